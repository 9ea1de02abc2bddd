/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Text of strangers for formats that take nothing but UTF-8. */
#include <stddef.h>
#include <stdint.h>

struct buf;

/* The length of the UTF-8 sequence at @s and its code point; 0: it is not one. @len is not 0. */
size_t utf8_at(const uint8_t *s, size_t len, uint32_t *out_code);

/* How many bytes of @s are UTF-8 from its start: @len if all are. */
size_t utf8_valid(const char *s, size_t len);

/* Append @s; bytes that are not UTF-8 become U+FFFD, one each. */
void utf8_put(struct buf *out, const char *s, size_t len);
