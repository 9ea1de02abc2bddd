/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Bytes as text: base64, of either alphabet when read, padded or not, and hexadecimal. */
#include <stddef.h>

struct buf;

/* Append what @text stands for: 0; -EBADMSG, and what was appended is of no use; -ENOMEM. */
int armour_base64(const char *text, size_t len, struct buf *out);
int armour_hex(const char *text, size_t len, struct buf *out);

/* Append bytes as base64, padded (RFC 4648, 4). */
void armour_put_base64(const void *data, size_t len, struct buf *out);
