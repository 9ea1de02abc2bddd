/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Resolves places in programs and libraries, given by file and symbol, to uprobe events. */
#include <stdint.h>

struct err;
struct event;

/*
 * Parses @text as documented at event_list_parse(). On success *@out is an event that
 * event_list_fini() frees. Returns 0, or -errno with the reason in @err.
 */
int uprobe_parse(const char *text, uint32_t pid, struct event *out, struct err *err);
