/* SPDX-License-Identifier: Apache-2.0 */
/* The unused low bits of the last base64 digit are ignored, as most decoders do. */
#include "base/base64.h"

#include <errno.h>
#include <stdint.h>

#include "base/buf.h"

static int base64_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+' || c == '-')
		return 62;
	return c == '/' || c == '_' ? 63 : -1;
}

int base64_decode(const char *text, size_t len, struct buf *out)
{
	uint32_t bits = 0;

	while (len && text[len - 1] == '=')
		len--;
	if (len % 4 == 1) /* one digit has only 6 bits */
		return -EBADMSG;
	for (size_t i = 0; i < len; i++) {
		int v = base64_digit(text[i]);

		if (v < 0)
			return -EBADMSG;
		bits = bits << 6 | (uint32_t)v;
		if (i % 4)
			buf_put_byte(out, (uint8_t)(bits >> (6 - 2 * (i % 4))));
	}
	return buf_error(out);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		return (c | 0x20) - 'a' + 10;
	return -1;
}

int hex_decode(const char *text, size_t len, struct buf *out)
{
	if (len % 2)
		return -EBADMSG;
	for (size_t i = 0; i < len; i += 2) {
		int high = hex_digit(text[i]), low = hex_digit(text[i + 1]);

		if (high < 0 || low < 0)
			return -EBADMSG;
		buf_put_byte(out, (uint8_t)(high << 4 | low));
	}
	return buf_error(out);
}

void base64_encode(const void *data, size_t len, struct buf *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *p = data;

	for (size_t i = 0; i < len; i += 3) {
		size_t n = len - i < 3 ? len - i : 3;
		uint32_t bits = (uint32_t)p[i] << 16;

		bits |= n > 1 ? (uint32_t)p[i + 1] << 8 : 0;
		bits |= n > 2 ? p[i + 2] : 0;
		for (size_t k = 0; k < 4; k++)
			buf_put_byte(out,
				     k <= n ? (uint8_t)digits[bits >> (18 - 6 * k) & 63] : '=');
	}
}
