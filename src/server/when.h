/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Times in the addresses of requests. */
#include <stdint.h>

/*
 * Nanoseconds since 1970 of "now", "now-90s", "now-1h", or of a number: seconds, milliseconds or
 * nanoseconds, told apart by size. 0: @s says none, or is NULL.
 */
int64_t when_read(const char *s, int64_t now_ns);
