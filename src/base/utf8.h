/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Validates untrusted text, for formats that require UTF-8 (RFC 3629). */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/*
 * The length in bytes of the sequence at @s, and its code point; 0 if it is not valid. @len must
 * not be 0.
 */
size_t utf8_at(const uint8_t *s, size_t len, uint32_t *out_code);

/* The length of the longest valid prefix of @s in bytes; @len if all of it is valid. */
size_t utf8_valid(const char *s, size_t len);

/* Appends @s with each invalid byte replaced by U+FFFD. */
void utf8_put(struct buf *out, const char *s, size_t len);

/*
 * Appends @s as one line that is safe on a terminal and looks like what it is: each control
 * character (C0, DEL, C1), and each one that ends lines, changes their direction or is invisible,
 * becomes a space, and each invalid byte U+FFFD.
 */
void utf8_put_line(struct buf *out, const char *s, size_t len);

/* Returns true if utf8_put_line() would append @s unmodified. */
bool utf8_is_line(const char *s, size_t len);
