/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The status line of `cameo up`: the functions that used most CPU time in the last window. */
#include <stddef.h>

struct export_window;

enum { HOT_FUNCTIONS = 3 };

/*
 * Writes "1.3 of 2 CPUs busy: 41 % spin (python3), 12 % sha256_block (openssl), ..." to @out,
 * truncated to @len bytes; "" if nothing ran. Percentages are shares of the busy time. Returns 0 or
 * -ENOMEM. @w is not changed. Any thread.
 */
int hot_line(const struct export_window *w, unsigned int n_cpus, char *out, size_t len);
