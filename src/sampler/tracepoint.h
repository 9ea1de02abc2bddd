/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Looks up kernel tracepoints by name. */
struct err;
struct event;

/*
 * Parses GROUP:NAME. On success *@out is an event that event_list_fini() frees. Returns 0,
 * -ENOENT for an unknown tracepoint, -EINVAL for malformed text, or -errno.
 */
int tracepoint_parse(const char *text, struct event *out, struct err *err);
