/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Times as text, for messages and logs. */
#include <stdint.h>

enum { UTC_TEXT_LEN = 32 };

/* Writes a time, in nanoseconds since 1970, with its second: "2026-11-21T08:00:00Z" (RFC 3339). */
void utc_text(int64_t time_ns, char out[UTC_TEXT_LEN]);
