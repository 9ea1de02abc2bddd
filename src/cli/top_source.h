/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where `cameo top` has its profiles from: this machine, sampled here, or a
 * server that has them already, so that nothing is sampled twice.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct err;
struct profile;
struct top_source;

struct top_source_opts {
	const char *url; /* of a server; NULL: this machine */
	const uint32_t *pids;
	size_t n_pids; /* 0: everything */
	uint32_t freq_hz;
	uint32_t interval_ms;
	int wake_fd; /* what the user types; -1: nobody does */
};

int top_source_open(struct top_source **out, const struct top_source_opts *opts, struct err *err);
void top_source_free(struct top_source *s);

DEFINE_FREEP(struct top_source, top_source_free)

/* Of a server's profiles: that samples shall have @label, borrowed; NULL: none. */
void top_source_set_label(struct top_source *s, const char *label);

/**
 * top_source_wait() - until an interval has passed, or something was typed
 *
 * Return: 1 and a new profile of the interval (without samples if there were
 * none); 0: wake_fd is readable, or a signal came; -errno.
 */
int top_source_wait(struct top_source *s, struct profile **out, struct err *err);
