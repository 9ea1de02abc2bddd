/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Times in the arguments of URLs. */
#include <stdint.h>

/*
 * Parses "now", "now-90s", "now-1h" or a number of seconds, milliseconds or nanoseconds since 1970,
 * which are distinguished by magnitude. Units of relative times are s, m, h and d. Returns
 * nanoseconds since 1970, or 0 if @s is NULL or malformed; callers substitute their default for 0.
 */
int64_t time_arg_parse(const char *s, int64_t now_ns);
