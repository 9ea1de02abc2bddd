/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Times in the arguments of URLs. */
#include <stdint.h>

/*
 * Parses "now", "now-90s", "now-1h" or a number of seconds, milliseconds or nanoseconds since 1970,
 * which are distinguished by magnitude. Units of relative times are s, m, h and d. Sets *@out to
 * nanoseconds since 1970, more than 0. Returns 0, or -EINVAL if @s is anything else or after 2262.
 */
int time_arg_parse(const char *s, int64_t now_ns, int64_t *out);
