/* SPDX-License-Identifier: Apache-2.0 */
#include "export/sink.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void export_item_free(struct export_item *i)
{
	if (!i)
		return;
	buf_fini(&i->body);
	free(i);
}

/* Text from a server is logged, so it must not contain line breaks. */
void sink_end(struct sink_outcome *out, enum sink_verdict verdict, const char *fmt, ...)
{
	va_list ap;

	out->verdict = verdict;
	va_start(ap, fmt);
	vsnprintf(out->why, sizeof(out->why), fmt, ap);
	va_end(ap);
	for (char *p = out->why; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
}
