/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An error names the current entry, not the path to it. Readers that descend save the struct before
 * and restore it afterwards, so an error in a nested entry names that entry and later errors the
 * outer one.
 */
#include "codec/common/proto_read.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"

int proto_read_error(struct proto_read *at, int code, const char *fmt, ...)
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

int proto_read_malformed(struct proto_read *at, struct wire w)
{
	if (!at->begin)
		return proto_read_error(at, -EBADMSG, "malformed or truncated");
	return proto_read_error(at, -EBADMSG, "malformed or truncated at byte %zu",
				(size_t)(w.p - at->begin));
}

int proto_read_no_memory(struct proto_read *at)
{
	return err_set(at->err, -ENOMEM, "out of memory while reading the profile");
}

int proto_read_check(struct proto_read *at, int r)
{
	return r < 0 ? proto_read_no_memory(at) : 0;
}

int proto_read_scalars(struct proto_read *at, struct wire w, uint32_t mask,
		       struct proto_scalars *out)
{
	struct wire_field f;
	int r;

	*out = (struct proto_scalars){ 0 };
	while ((r = wire_next(&w, &f)) > 0) {
		if (f.number >= PROTO_SCALARS || !(mask & PROTO_BIT(f.number)))
			continue;
		if (f.type == WIRE_LEN)
			return proto_read_error(at, -EBADMSG, "field %u is not a number", f.number);
		out->v[f.number] = f.value;
	}
	return r < 0 ? proto_read_malformed(at, w) : 0;
}

int proto_read_collect(struct proto_read *at, const struct wire_field *f, struct proto_parts *parts)
{
	if (f->type != WIRE_LEN)
		return proto_read_error(at, -EBADMSG, "field %u is not a message", f->number);
	return vec_push(parts, f->bytes) < 0 ? proto_read_no_memory(at) : 0;
}

int proto_read_next(struct proto_read *at, struct wire *w, uint32_t number, struct wire *out)
{
	struct wire_field f;
	int r;

	while ((r = wire_next(w, &f)) > 0) {
		if (f.number != number)
			continue;
		if (f.type != WIRE_LEN)
			return proto_read_error(at, -EBADMSG, "field %u is not a message", number);
		*out = f.bytes;
		return 1;
	}
	return r < 0 ? proto_read_malformed(at, *w) : 0;
}
