/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The profiles that `cameo top` displays: samples of this machine, or profiles that a server
 * stores. One thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct err;
struct profile;
struct top_source;

struct top_source_opts {
	const char *url; /* of a server, which ignores pids and freq_hz; NULL: this machine */
	const uint32_t *pids;
	size_t n_pids;        /* 0: the whole machine */
	uint32_t freq_hz;     /* samples per second on each CPU */
	uint32_t interval_ms; /* time between two profiles */
	int wake_fd;          /* ends a wait when it is readable; -1: none */
};

/*
 * Starts sampling, unless @opts names a server. Drops the privileges of this process that are not
 * needed any more. @opts is copied, its pointers are borrowed until top_source_free(). Returns 0 or
 * -errno with the reason.
 */
int top_source_open(struct top_source **out, const struct top_source_opts *opts, struct err *err);
void top_source_free(struct top_source *s);

DEFINE_FREEP(struct top_source, top_source_free)

/* Sets the label that samples of a server should have, which is borrowed; NULL: none. */
void top_source_set_label(struct top_source *s, const char *label);

/**
 * top_source_wait() - wait until an interval has passed or a key was typed
 *
 * Return: 1 and a new profile of the interval, which may have no samples; 0 if wake_fd is readable
 * or a signal has arrived; -errno.
 */
int top_source_wait(struct top_source *s, struct profile **out, struct err *err);
