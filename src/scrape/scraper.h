/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Scrapes the profiles that programs offer over HTTP, such as those of Go's net/http/pprof, and
 * turns them into windows for the exporter. In each interval all profiles of all targets are
 * requested at the same time, by a process that has the network (fetch/fetcher.h); their bytes are
 * read by a process without privileges (reader/profile_client.h). A target that does not respond
 * delays no other one.
 *
 * One thread of its own. Functions may be called from any thread, but scraper_configure() from one
 * at a time. Memory: scrape_memory.h.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "scrape/scrape_result.h"
#include "scrape/scrape_targets.h"

struct err;
struct export_window;
struct fetcher;
struct scrape_config_opts;
struct scraper;

struct scraper_opts {
	struct fetcher *fetcher; /* for the scraper alone; borrowed */
	/* Receives a window, which it owns. On the scraper's thread. */
	void (*export)(void *ctx, struct export_window *w);
	/* Writes a line to the log. On the scraper's thread. */
	void (*log)(void *ctx, const char *message);
	void *ctx;
};

/* Returns 0 or -errno with the reason in @err. Nothing is scraped before scraper_configure(). */
int scraper_new(struct scraper **out, const struct scraper_opts *opts, struct err *err);
/* Ends a running request; nothing is exported afterwards. NULL is fine. */
void scraper_stop(struct scraper *s);
/* Stops it, too. NULL is fine. */
void scraper_free(struct scraper *s);

DEFINE_FREEP(struct scraper, scraper_free)

/*
 * Sets or replaces the configuration; it applies from the next interval on. Returns 0; -EINVAL with
 * the reason in @err, which leaves the old one in place; -ENOMEM.
 */
int scraper_configure(struct scraper *s, const struct scrape_config_opts *from, struct err *err);

struct scrape_target_stats {
	char instance[SCRAPE_URL_MAX + 1]; /* host:port */
	bool is_up;                        /* all its requests of the last interval succeeded */
};

struct scraper_stats {
	uint64_t results[SCRAPE_RESULT_MAX]; /* requests */
	uint64_t n_profiles;                 /* that were exported, one per sample type */
	uint64_t n_rounds, n_late;           /* intervals; those that began late */
	uint64_t n_first;                    /* cumulative profiles that had none before them */
	uint64_t n_refused; /* targets beyond SCRAPE_TARGETS_MAX, of the last interval */
	size_t n_targets;
	struct scrape_target_stats targets[SCRAPE_TARGETS_MAX];
};

void scraper_stats(struct scraper *s, struct scraper_stats *out);
