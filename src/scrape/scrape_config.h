/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The configuration of scraping, and its current targets. One thread. */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "scrape/scrape_auth.h"
#include "scrape/scrape_targets.h"

struct err;
struct kubelet;
struct kubelet_opts;
struct rules;

/* Copied by scrape_config_new(). */
struct scrape_config_opts {
	const char *const *targets; /* "URL [LABEL=VALUE]..." */
	size_t n_targets;
	const char *file; /* read again in each interval; NULL: none */
	const char *const *rules;
	size_t n_rules;
	const char *const *auths; /* credentials (scrape_auth.h) */
	size_t n_auths;
	const struct fetcher *fetcher;      /* borrowed; those of credentials are like it */
	const struct kubelet_opts *kubelet; /* of the pods to scrape; NULL: none */
	uint32_t types;                     /* scrape_types_parse() */
	uint64_t interval_ns;
};

struct scrape_config {
	struct scrape_targets targets; /* of options, without rules applied */
	char *file;                    /* NULL: none */
	struct kubelet *kubelet;       /* NULL: none */
	struct rules *rules;
	struct scrape_auths auths;
	uint32_t types;
	uint64_t interval_ns;
};

/*
 * Checks and copies a configuration. An invalid file is an error now; later it is not, because it
 * may just be being written. Returns 0; -EINVAL with the reason in @err; -errno; -ENOMEM.
 */
int scrape_config_new(struct scrape_config **out, const struct scrape_config_opts *from,
		      struct err *err);
void scrape_config_free(struct scrape_config *c);

DEFINE_FREEP(struct scrape_config, scrape_config_free)

/* Returns the duration of timed profiles, which end before the interval does, in seconds. */
unsigned int scrape_config_seconds(const struct scrape_config *c);

/*
 * Adds the present targets of the file, if there is one. Returns 0; -EINVAL or -errno with the
 * reason in
 * @err, after which targets may be missing; -ENOMEM.
 */
int scrape_config_read_file(const struct scrape_config *c, struct scrape_targets *out,
			    struct err *err);

/* Adds the present targets among the pods of the kubelet, if there is one. Returns the same. */
int scrape_config_read_pods(const struct scrape_config *c, struct scrape_targets *out,
			    struct err *err);
