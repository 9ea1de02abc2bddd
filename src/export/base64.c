/* SPDX-License-Identifier: Apache-2.0 */
#include "export/base64.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_put(struct buf *out, const void *data, size_t len)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < len; i += 3) {
		uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < len ? (uint32_t)p[i + 1] << 8 : 0) |
			     (i + 2 < len ? p[i + 2] : 0);

		buf_put_byte(out, (uint8_t)digits[v >> 18]);
		buf_put_byte(out, (uint8_t)digits[v >> 12 & 63]);
		buf_put_byte(out, i + 1 < len ? (uint8_t)digits[v >> 6 & 63] : '=');
		buf_put_byte(out, i + 2 < len ? (uint8_t)digits[v & 63] : '=');
	}
}

int base64_get(struct buf *out, const char *s, size_t len)
{
	uint32_t v = 0;
	int bits = 0;

	while (len && s[len - 1] == '=')
		len--;
	for (size_t i = 0; i < len; i++) {
		const char *d = s[i] ? strchr(digits, s[i]) : NULL;

		if (!d)
			return -EBADMSG;
		v = v << 6 | (uint32_t)(d - digits);
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			buf_put_byte(out, (uint8_t)(v >> bits));
		}
	}
	return bits == 6 ? -EBADMSG : 0; /* one digit over */
}
