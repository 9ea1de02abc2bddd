/* SPDX-License-Identifier: Apache-2.0 */
#include "base/logfmt.h"

#include "base/buf.h"

void logfmt_put(struct buf *line, const char *key, const char *text)
{
	buf_printf(line, "%s=\"", key);
	for (const char *p = text; *p; p++) {
		if (*p == '\n')
			buf_put_str(line, "\\n");
		else if ((unsigned char)*p < ' ' || *p == 0x7f)
			buf_printf(line, "\\x%02x", (unsigned char)*p);
		else if (*p == '"' || *p == '\\')
			buf_printf(line, "\\%c", *p);
		else
			buf_put_byte(line, (uint8_t)*p);
	}
	buf_put_byte(line, '"');
}
