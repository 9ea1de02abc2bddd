/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Resolves places in programs and libraries, given by file and symbol, to uprobe events. */
#include <stdbool.h>
#include <stdint.h>

struct err;
struct event;
struct event_query;

/*
 * Parses @text as documented at event_list_parse(). On success *@out is an event that
 * event_list_fini() frees. Returns 0, or -errno with the reason in @err.
 */
int uprobe_parse(const char *text, const struct event_query *q, struct event *out, struct err *err);

/*
 * The type and config of perf events for uprobes, or for the returns of functions; the kernel
 * assigns both. Returns 0, or -ENOTSUP if this kernel has none.
 */
int uprobe_event_type(bool is_return, uint32_t *out_type, uint64_t *out_config);
