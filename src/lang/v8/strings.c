/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads V8's strings. Their characters have one byte (Latin-1) or two (UTF-16), in the object
 * or outside of the heap. A string may also refer to others: as a concatenation (cons), a part
 * (sliced) or an alias (thin) of them. As such references may form cycles in garbage, the
 * number of steps is limited.
 */
#include <errno.h>

#include "base/buf.h"
#include "lang/v8/heap.h"

enum {
	STEPS_MAX = 64,   /* limit of strings that a string consists of */
	PENDING_MAX = 32, /* limit of second halves not yet visited */
	TEXT_MAX = 1 << 29,
	RESOURCE_DATA = 8, /* from an external string's resource to the address of its characters */
	CHUNK = 256,
};

bool v8_is_string(const struct v8_heap *h, uint64_t object)
{
	int type = v8_type(h, object);

	return type >= 0 && type < h->vm->f.type_first_nonstring;
}

static int get_length(const struct v8_heap *h, uint64_t object, uint32_t *out)
{
	int r = v8_get(h, object + (uint64_t)h->vm->f.string_length, out, sizeof(*out));

	return r < 0 ? r : *out > TEXT_MAX ? -EBADMSG : 0;
}

/* Gets the characters of a sequential or external string. */
static int get_flat(const struct v8_heap *h, uint64_t object, int type, struct v8_text *out)
{
	const struct v8_fields *f = &h->vm->f;
	bool narrow = (type & f->string_encoding_mask) == f->string_encoding_one_byte;
	int form = type & f->string_representation_mask;
	struct v8_text t = { .width = narrow ? 1 : 2 };
	int r = get_length(h, object, &t.n);

	if (r < 0)
		return r;
	if (form == f->string_seq)
		t.at = object + (uint64_t)(narrow ? f->string_one_byte : f->string_two_byte);
	else if (form == f->string_external)
		r = v8_get(h, object + (uint64_t)f->string_resource + RESOURCE_DATA, &t.at,
			   sizeof(t.at));
	else
		r = -EBADMSG;
	if (r == 0)
		*out = t;
	return r;
}

/*
 * Follows a thin or sliced string to the string that it refers to. Returns -ENOENT for other
 * strings.
 */
static int get_referenced(const struct v8_heap *h, uint64_t object, int type, uint64_t *out,
			  uint32_t *out_from)
{
	const struct v8_fields *f = &h->vm->f;
	int form = type & f->string_representation_mask;
	int32_t from;
	int r;

	*out_from = 0;
	if (form == f->string_thin)
		return v8_get_object(h, object + (uint64_t)f->string_actual, out);
	if (form != f->string_sliced)
		return -ENOENT;
	r = v8_get_smi(h, object + (uint64_t)f->string_parent_offset, &from);
	if (r == 0)
		r = from < 0 ? -EBADMSG : 0;
	*out_from = (uint32_t)from;
	return r < 0 ? r : v8_get_object(h, object + (uint64_t)f->string_parent, out);
}

static int get_halves(const struct v8_heap *h, uint64_t object, uint64_t out[2])
{
	int r = v8_get_object(h, object + (uint64_t)h->vm->f.string_first, &out[0]);

	return r < 0 ? r : v8_get_object(h, object + (uint64_t)h->vm->f.string_second, &out[1]);
}

int v8_get_text(const struct v8_heap *h, uint64_t object, struct v8_text *out)
{
	uint32_t from = 0, part, n, rest;
	uint64_t halves[2];
	int r = get_length(h, object, &n);

	for (int i = 0; i < STEPS_MAX && r == 0; i++) {
		int type = v8_type(h, object);

		if (type < 0 || type >= h->vm->f.type_first_nonstring)
			return -EBADMSG;
		if ((type & h->vm->f.string_representation_mask) == h->vm->f.string_cons) {
			/* A cons string that V8 has flattened has an empty second half. */
			r = get_halves(h, object, halves);
			if (r == 0)
				r = get_length(h, halves[1], &rest);
			if (r == 0 && rest)
				r = -EBADMSG;
			object = halves[0];
			continue;
		}
		r = get_referenced(h, object, type, &object, &part);
		if (r == -ENOENT) {
			r = get_flat(h, object, type, out);
			if (r < 0)
				return r;
			if (from > out->n || n > out->n - from)
				return -EBADMSG;
			out->at += (uint64_t)from * out->width;
			out->n = n;
			return 0;
		}
		from += part;
		if (from > TEXT_MAX)
			r = -EBADMSG;
	}
	return r < 0 ? r : -ELOOP;
}

/* ---- names ---------------------------------------------------------------------- */

static void put_char(struct buf *out, uint32_t c)
{
	if (c < 0x20 || c == 0x7f || (c >= 0xd800 && c < 0xe000))
		c = '?';
	if (c < 0x80) {
		buf_put_byte(out, (uint8_t)c);
	} else if (c < 0x800) {
		buf_put_byte(out, (uint8_t)(0xc0 | c >> 6));
		buf_put_byte(out, (uint8_t)(0x80 | (c & 0x3f)));
	} else {
		buf_put_byte(out, (uint8_t)(0xe0 | c >> 12));
		buf_put_byte(out, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
		buf_put_byte(out, (uint8_t)(0x80 | (c & 0x3f)));
	}
}

int v8_put_text(const struct v8_heap *h, const struct v8_text *t, uint32_t max, struct buf *out)
{
	uint32_t n = t->n < max ? t->n : max, i = 0;
	uint8_t chunk[CHUNK];

	while (i < n) {
		uint32_t part = n - i < CHUNK / 2 ? n - i : CHUNK / 2;
		int r = v8_get(h, t->at + (uint64_t)i * t->width, chunk, (size_t)part * t->width);

		if (r < 0)
			return r;
		for (uint32_t k = 0; k < part; k++)
			put_char(out,
				 t->width == 1 ? chunk[k] : chunk[2 * k] | chunk[2 * k + 1] << 8);
		i += part;
	}
	return (int)n;
}

int v8_put_string(const struct v8_heap *h, uint64_t object, struct buf *out)
{
	uint64_t pending[PENDING_MAX], halves[2];
	uint32_t remaining = LANG_NAME_MAX;
	struct v8_text text;
	size_t n = 0;
	int r;

	pending[n++] = object;
	for (int i = 0; i < STEPS_MAX && n && remaining; i++) {
		object = pending[--n];
		r = v8_get_text(h, object, &text);
		if (r == 0)
			r = v8_put_text(h, &text, remaining, out);
		if (r >= 0) {
			remaining -= (uint32_t)r;
			continue;
		}
		/* The string is not contiguous: visit its halves. */
		r = v8_type(h, object);
		if (r < 0 || r >= h->vm->f.type_first_nonstring || n + 2 > PENDING_MAX ||
		    (r & h->vm->f.string_representation_mask) != h->vm->f.string_cons)
			return -EBADMSG;
		r = get_halves(h, object, halves);
		if (r < 0)
			return r;
		pending[n++] = halves[1];
		pending[n++] = halves[0];
	}
	return n && remaining ? -ELOOP : 0;
}
