/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Translates the scraping options of an agent's configuration. */
struct agent_config;
struct err;
struct fetcher;
struct scraper;

/* @fetcher is the scraper's, and borrowed. Returns the same values as scraper_configure(). */
int agent_scraper_configure(struct scraper *s, const struct agent_config *c,
			    struct fetcher *fetcher, struct err *err);
