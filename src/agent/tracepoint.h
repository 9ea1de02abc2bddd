/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The kernel's tracepoints by their names. */
struct err;
struct event;

/* GROUP:NAME. 0 and an event to be freed; -ENOENT, -EINVAL or -errno with the reason. */
int tracepoint_parse(const char *text, struct event *out, struct err *err);
