/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/reading.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"

int reading_bad(struct reading *at, int code, const char *fmt, ...)
{
	char why[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	if (!at->what)
		return err_set(at->err, code, "%s", why);
	return err_set(at->err, code, "%s %zu: %s", at->what, at->nth, why);
}

int reading_malformed(struct reading *at, struct wire w)
{
	if (!at->begin)
		return reading_bad(at, -EBADMSG, "it is malformed or cut short");
	return reading_bad(at, -EBADMSG, "it is malformed or cut short at byte %zu",
			   (size_t)(w.p - at->begin));
}

int reading_no_memory(struct reading *at)
{
	return err_set(at->err, -ENOMEM, "no memory to read the profile");
}

int reading_interned(struct reading *at, int r)
{
	return r < 0 ? reading_no_memory(at) : 0;
}

int reading_scalars(struct reading *at, struct wire w, uint32_t mask, struct wire_scalars *out)
{
	struct wire_field f;
	int r;

	*out = (struct wire_scalars){ 0 };
	while ((r = wire_next(&w, &f)) > 0) {
		if (f.number >= WIRE_SCALARS || !(mask & WIRE_BIT(f.number)))
			continue;
		if (f.type == WIRE_LEN)
			return reading_bad(at, -EBADMSG, "field %u is not a number", f.number);
		out->v[f.number] = f.value;
	}
	return r < 0 ? reading_malformed(at, w) : 0;
}

int reading_keep(struct reading *at, const struct wire_field *f, struct wire_parts *parts)
{
	if (f->type != WIRE_LEN)
		return reading_bad(at, -EBADMSG, "field %u is not a message", f->number);
	return vec_push(parts, f->bytes) < 0 ? reading_no_memory(at) : 0;
}

int reading_next_message(struct reading *at, struct wire *w, uint32_t number, struct wire *out)
{
	struct wire_field f;
	int r;

	while ((r = wire_next(w, &f)) > 0) {
		if (f.number != number)
			continue;
		if (f.type != WIRE_LEN)
			return reading_bad(at, -EBADMSG, "field %u is not a message", number);
		*out = f.bytes;
		return 1;
	}
	return r < 0 ? reading_malformed(at, *w) : 0;
}
