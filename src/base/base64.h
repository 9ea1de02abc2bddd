/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Base64 and hexadecimal (RFC 4648). proto3's JSON requires a decoder that accepts both base64
 * alphabets, padded or not; the decoders of GnuTLS and nettle accept neither, so a wrapper for
 * them would be as long as this.
 */
#include <stddef.h>

struct buf;

/*
 * Append the decoded bytes to @out. Return 0; -EBADMSG for malformed @text, after which what
 * was appended must be discarded; -ENOMEM.
 */
int base64_decode(const char *text, size_t len, struct buf *out);
int hex_decode(const char *text, size_t len, struct buf *out);

/* Appends @data in the standard alphabet, padded (RFC 4648, section 4). Errors stick to @out. */
void base64_encode(const void *data, size_t len, struct buf *out);
