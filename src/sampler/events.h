/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The events that a sample can be taken at: perf events by name, kernel tracepoints, and
 * places in programs (uprobes). Parsing needs no privileges except for tracepoints, whose ids
 * are in tracefs; opening the events is the job of attach.h.
 */
#include <stdint.h>

#include "base/vec.h"
#include "sampler/event.h"

struct err;

struct event_list {
	VEC(struct event);
};

/**
 * event_list_parse() - append the events that @text names
 *
 * @text is a comma-separated list of perf events by name and of tracepoints as GROUP:NAME, or
 * a single uprobe:FILE:FUNCTION[+OFFSET] (uretprobe: for the function's return). FILE is a
 * path, or the name of a library or program: then it is searched among the files that process
 * @q->pid has mapped or, if that is 0, where the dynamic loader and the shell would find it.
 * Each event gets its default period.
 *
 * Return: 0, or -errno with an @err that names the alternatives.
 */
int event_list_parse(const char *text, const struct event_query *q, struct event_list *out,
		     struct err *err);
void event_list_fini(struct event_list *l);

/* All perf events by name, separated by ", ", for error messages and help. */
const char *event_list_names(void);
