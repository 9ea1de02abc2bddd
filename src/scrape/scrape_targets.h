/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Programs whose profiles are scraped: a base URL and labels each. They come from options,
 * "URL [LABEL=VALUE]...", and from files in the format of Prometheus's file_sd_config, in JSON:
 *
 * 	[{"targets": ["10.0.0.7:6060"], "labels": {"service_name": "shop", "__scheme__": "https"}}]
 *
 * Labels that begin with __ are for rules and are omitted from profiles; __scheme__ and __address__
 * are also parts of the URL. One thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "metadata/labels.h"

struct err;
struct rules;

enum { SCRAPE_TARGETS_MAX = 50, SCRAPE_URL_MAX = 200 };

struct scrape_target {
	char url[SCRAPE_URL_MAX + 1];      /* without a slash at its end, without a user */
	char instance[SCRAPE_URL_MAX + 1]; /* host:port, for labels and messages */
	uint32_t types;                    /* bits 1 << enum scrape_type; 0: those of the options */
	struct metadata_labels labels;     /* sorted, with service_name and instance */
};

struct scrape_targets {
	VEC(struct scrape_target);
	size_t n_refused; /* beyond SCRAPE_TARGETS_MAX */
	size_t n_dropped; /* by rules */
};

void scrape_targets_fini(struct scrape_targets *t);

/* Adds the target of an option. Returns 0; -EINVAL with the reason in @err; -ENOMEM. */
int scrape_targets_add(struct scrape_targets *t, const char *text, struct err *err);
/* Checks an option (struct option_spec). Returns the same. */
int scrape_target_check(const char *text, struct err *err);

/*
 * Adds a target with copies of @labels, or adds @types to the target that has this URL. Returns 0;
 * -EINVAL if @url is not one; -ENOMEM.
 */
int scrape_targets_add_url(struct scrape_targets *t, const char *url, uint32_t types,
			   const struct metadata_labels *labels);

/* Adds copies of all targets of @from. Returns 0 or -ENOMEM. */
int scrape_targets_copy(struct scrape_targets *t, const struct scrape_targets *from);

/* Adds the targets of a file's content. Returns the same; targets before the error remain. */
int scrape_targets_read(struct scrape_targets *t, const void *data, size_t len, struct err *err);

/*
 * Applies the rules of labels, which may drop targets, and completes the labels: service_name and
 * instance are the address of the target if they are not set. Removes targets whose URL
 * occurred before. Returns 0 or -ENOMEM.
 */
int scrape_targets_finish(struct scrape_targets *t, struct rules *rules);
