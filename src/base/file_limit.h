/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct rlimit;

/*
 * Raises the number of files that this process may open to the maximum of its limits, which needs
 * no privileges. A profiler holds every mapped executable open, and a server one descriptor per
 * connection; the usual soft limit of 1024 exists for programs that call select(). Child processes
 * inherit the limit: *@out_old, which may be NULL, receives the former limits for those that should
 * not. A failure leaves the limits unchanged.
 */
void file_limit_raise(struct rlimit *out_old);
