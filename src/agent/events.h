/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a sample can be taken of: perf's events by their names, the kernel's tracepoints,
 * and places in programs (uprobes).
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct err;

enum event_kind {
	EVENT_PERF, /* counted by each CPU: a sample interrupts it */
	EVENT_TRACEPOINT,
	EVENT_UPROBE,
	EVENT_KIND_MAX,
};

struct event {
	enum event_kind kind;
	char *name;      /* as the profile's sample type */
	uint32_t type;   /* PERF_TYPE_*, or the number that the kernel gave to uprobes */
	uint64_t config; /* PERF_COUNT_*, a tracepoint's number */
	uint64_t period; /* of what is counted, a sample; 0: by frequency */
	bool is_clock;   /* it counts nanoseconds */
	bool is_hardware;
	char *path;      /* of a uprobe: the file, as we can open it */
	uint64_t offset; /* in it */
};

struct event_list {
	VEC(struct event);
};

/**
 * event_list_parse() - add the events that @text names
 *
 * perf's own by name, tracepoints as GROUP:NAME, with commas between; or one place as
 * uprobe:FILE:SYMBOL[+OFFSET], or uretprobe: for where that function returns. FILE may be the
 * name of a library or a program instead of a path: one that process @pid has mapped, or, where
 * @pid is 0, where the loader or the shell would look for it. Each gets its usual period.
 *
 * Return: 0, or -errno with a line that says what there is instead.
 */
int event_list_parse(const char *text, uint32_t pid, struct event_list *out, struct err *err);
void event_list_fini(struct event_list *l);

/* "cpu-clock, page-faults, ...", for messages. */
const char *event_names(void);
