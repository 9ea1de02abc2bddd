/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One line of what takes the time in a window, for a terminal. */
#include <stddef.h>

struct export_window;

enum { HOT_FUNCTIONS = 3 };

/*
 * "1.3 of 2 CPUs busy: 41 % spin (python3), 12 % sha256_block (openssl), ..." into @out, cut to
 * @len bytes; "" when nothing ran. The shares are of what ran. 0 or -ENOMEM.
 */
int hot_line(const struct export_window *w, unsigned int n_cpus, char *out, size_t len);
