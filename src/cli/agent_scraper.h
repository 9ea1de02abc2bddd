/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The scraper's part of an agent's configuration. */
struct agent_config;
struct err;
struct fetcher;
struct scraper;

/* @fetcher, which is borrowed, is the scraper's. Returns the same as scraper_configure(). */
int agent_scraper_configure(struct scraper *s, const struct agent_config *c,
			    struct fetcher *fetcher, struct err *err);
