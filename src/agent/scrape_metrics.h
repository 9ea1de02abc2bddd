/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The metrics of scraping, in the Prometheus text format. Pure function. */
struct buf;
struct scraper_stats;

void scrape_metrics_text(struct buf *out, const struct scraper_stats *s);
