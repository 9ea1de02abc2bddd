/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Base64 (RFC 4648, 4). */
#include <stddef.h>

struct buf;

void base64_put(struct buf *out, const void *data, size_t len);

/* Append what @s stands for; padding may be missing (gRPC). 0; -EBADMSG if it is none. */
int base64_get(struct buf *out, const char *s, size_t len);
