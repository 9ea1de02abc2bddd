/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One event that a sample can be taken at; events.h parses lists of them. */
#include <stdbool.h>
#include <stdint.h>

enum event_kind {
	EVENT_PERF, /* counted by each CPU; a sample is taken on overflow */
	EVENT_TRACEPOINT,
	EVENT_UPROBE,
	EVENT_KIND_MAX,
};

struct event {
	enum event_kind kind;
	char *name;      /* sample type in the profile; owned */
	uint32_t type;   /* PERF_TYPE_*, or the type that the kernel assigned to uprobes */
	uint64_t config; /* PERF_COUNT_*, or the tracepoint's id */
	uint64_t period; /* occurrences per sample; 0: sample by frequency */
	bool is_clock;   /* it counts nanoseconds of CPU time */
	bool is_hardware;
	char *path;      /* file of a uprobe, as this process can open it; owned */
	uint64_t offset; /* of the probe in that file, in bytes */
};

/*
 * How places in programs are looked up. Zeros: a library is searched in the system's directories,
 * and this process reads its symbols.
 */
struct event_query {
	uint32_t pid; /* searches a library among the files that this process has mapped */
	/* Replaces probe_place_find() (symbol/probe_place.h); may be NULL. */
	int (*find_place)(void *ctx, int fd, const char *name, uint64_t offset, uint64_t *out);
	void *ctx;
};
