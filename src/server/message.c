/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two decoders, for protobuf and for proto3 JSON, fill the same structs by the same tables of
 * fields. Unknown fields are skipped in both, as proto3 requires, and listed for the response;
 * nesting is limited because requests come from untrusted clients.
 *
 * Offsets in the tables must fit the struct into which a message is decoded; the compiler checks
 * neither, so both are next to each other in the file of the method. Lists grow by doubling, and
 * their old arrays stay in the memory until the end, which costs at most as much again.
 */
#include "server/message.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/decimal.h"
#include "base/err.h"
#include "base/json_read.h"
#include "codec/common/wire.h"

enum {
	MAX_NESTING = 8,
	OVERHEAD = 40, /* of an allocation: malloc's, and the pointer to it */
};

/* One call of message_read(). */
struct reader {
	struct message_memory *memory;
	struct json_read json;
	struct err *err;
	unsigned int nesting;
};

static void reader_fini(struct reader *rd)
{
	json_read_fini(&rd->json);
}

void message_memory_fini(struct message_memory *m)
{
	for (size_t i = 0; i < m->len; i++)
		free(m->data[i]);
	vec_fini(m);
}

/*
 * Claims memory in steps. The first MESSAGE_CLAIM_BYTES need no claim, because they are part of
 * what is reserved for each request.
 */
static int claim(struct reader *rd, size_t len)
{
	struct message_memory *m = rd->memory;
	size_t more;
	int r;

	m->used += len + OVERHEAD;
	if (!m->claim || m->used <= m->claimed + MESSAGE_CLAIM_BYTES)
		return 0;
	more = m->used - m->claimed;
	r = m->claim(m->claim_ctx, more, rd->err);
	if (r == 0)
		m->claimed += more;
	return r;
}

/* Allocates memory that lives as long as the message. */
static int allocate(struct reader *rd, size_t len, void **out)
{
	int r = claim(rd, len);
	void *p;

	if (r < 0)
		return r;
	p = malloc(len ? len : 1);
	if (!p || vec_push(rd->memory, p) < 0) {
		free(p);
		return -ENOMEM;
	}
	*out = p;
	return 0;
}

/* Strings are NUL-terminated from here on, so a NUL inside is rejected. */
static int copy_string(struct reader *rd, const void *data, size_t len, const char **out)
{
	void *s = NULL;
	int r;

	if (len && memchr(data, 0, len))
		return err_set(rd->err, -EBADMSG, "request: a string contains a NUL byte");
	r = allocate(rd, len + 1, &s);
	if (r < 0)
		return r;
	if (len)
		memcpy(s, data, len);
	((char *)s)[len] = 0;
	*out = s;
	return 0;
}

/* Adds a zeroed element of @size bytes to a list, which moves when it grows. */
static int add_element(struct reader *rd, struct message_list *list, size_t size, void **out)
{
	if (list->len >= MESSAGE_MAX_ELEMENTS)
		return err_set(rd->err, -EBADMSG, "request: a list has more than %d elements",
			       MESSAGE_MAX_ELEMENTS);
	if (list->len == list->cap) {
		size_t cap = list->cap ? list->cap * 2 : 4;
		void *to = NULL;
		int r = allocate(rd, cap * size, &to);

		if (r < 0)
			return r;
		if (list->len)
			memcpy(to, list->data, list->len * size);
		list->data = to;
		list->cap = cap;
	}
	*out = list->data + list->len++ * size;
	memset(*out, 0, size);
	return 0;
}

/* Elements are stored by memcpy(), since the array of a message_list is not typed. */
static int add_string(struct reader *rd, void *at, const void *data, size_t len)
{
	void *slot = NULL;
	const char *s = NULL;
	int r = copy_string(rd, data, len, &s);

	if (r == 0)
		r = add_element(rd, at, sizeof(s), &slot);
	if (r == 0)
		memcpy(slot, &s, sizeof(s));
	return r;
}

_Static_assert(sizeof(struct message_list) == sizeof(struct message_strings), "one layout");

/* Tables have about ten entries, so a linear search is the fastest. */
static const struct message_field *field_by_number(const struct message *m, uint32_t number)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->fields[i].number == number)
			return &m->fields[i];
	return NULL;
}

/* Lists a field that is skipped, unless it was the last one or the list is full. */
static void note_ignored(struct reader *rd, const char *name)
{
	static const char more[] = "...";
	char *list = rd->memory->ignored, text[MESSAGE_IGNORED_MAX];
	size_t len = strlen(list), n = strnlen(name, sizeof(text) - 1);
	const char *last = strrchr(list, ',') ? strrchr(list, ',') + 1 : list;

	for (size_t i = 0; i < n; i++)
		text[i] = isalnum((unsigned char)name[i]) ? name[i] : '_';
	text[n] = 0;
	if (!strcmp(last, n ? text : "_") || !strcmp(last, more))
		return;
	if (len + 1 + n + 1 + sizeof(more) > MESSAGE_IGNORED_MAX)
		strcpy(text, more);
	snprintf(list + len, MESSAGE_IGNORED_MAX - len, "%s%s", len ? "," : "", n ? text : "_");
}

static void note_number(struct reader *rd, uint32_t number)
{
	char text[16];

	snprintf(text, sizeof(text), "%" PRIu32, number);
	note_ignored(rd, text);
}

static int read_proto(struct reader *rd, const struct message *m, struct wire w, void *out);

/*
 * Stores one field of a protobuf message. A field of another wire type than expected is an error.
 * Packed numbers do not occur in these requests.
 */
static int proto_field(struct reader *rd, const struct message_field *f, const struct wire_field *w,
		       void *out)
{
	void *at = (char *)out + f->offset, *element = NULL;
	bool is_bytes = w->type == WIRE_LEN;
	int r;

	switch (f->kind) {
	case MESSAGE_INT:
		if (w->type == WIRE_VARINT)
			*(int64_t *)at = (int64_t)w->value;
		return w->type == WIRE_VARINT ? 0 : -EBADMSG;
	case MESSAGE_BOOL:
		*(bool *)at = w->value != 0;
		return w->type == WIRE_VARINT ? 0 : -EBADMSG;
	case MESSAGE_DOUBLE:
		if (w->type == WIRE_FIXED64)
			memcpy(at, &w->value, sizeof(double));
		return w->type == WIRE_FIXED64 ? 0 : -EBADMSG;
	case MESSAGE_STRING:
		return is_bytes ? copy_string(rd, w->bytes.p, wire_len(w->bytes), at) : -EBADMSG;
	case MESSAGE_STRINGS:
		return is_bytes ? add_string(rd, at, w->bytes.p, wire_len(w->bytes)) : -EBADMSG;
	case MESSAGE_BYTES:
		*(struct message_bytes *)at =
			(struct message_bytes){ w->bytes.p, wire_len(w->bytes) };
		return is_bytes ? 0 : -EBADMSG;
	case MESSAGE_INNER:
		return is_bytes ? read_proto(rd, f->nested, w->bytes, at) : -EBADMSG;
	default:
		r = is_bytes ? add_element(rd, at, f->nested->size, &element) : -EBADMSG;
		return r < 0 ? r : read_proto(rd, f->nested, w->bytes, element);
	}
}

/*
 * Reads a message by the table @m. The nesting level is not restored after an error, because an
 * error ends the whole decoding.
 */
static int read_proto(struct reader *rd, const struct message *m, struct wire w, void *out)
{
	struct wire_field field;
	int r;

	if (++rd->nesting > MAX_NESTING)
		return -EBADMSG;
	while ((r = wire_next(&w, &field)) > 0) {
		const struct message_field *f = field_by_number(m, field.number);

		if (!f)
			note_number(rd, field.number);
		r = f ? proto_field(rd, f, &field, out) : 0;
		if (r < 0)
			return r;
	}
	rd->nesting--;
	return r;
}

/*
 * Compares names without regard to case and underscores: clients send labelNames, label_names or
 * LabelNames.
 */
static bool same_name(const char *a, const char *b)
{
	for (;; a++, b++) {
		a += strspn(a, "_");
		b += strspn(b, "_");
		if (strncasecmp(a, b, 1) != 0)
			return false;
		if (!*a)
			return true;
	}
}

/* The first match counts, so no two fields of a table may differ only in case or underscores. */
static const struct message_field *field_by_name(const struct message *m, const char *name)
{
	for (size_t i = 0; i < m->n; i++)
		if (same_name(m->fields[i].name, name))
			return &m->fields[i];
	return NULL;
}

/*
 * Reads an integer: a number without a fraction, a string of digits (as proto3 writes int64) or an
 * enum's name. A number is read as a double, so an integer beyond 2^53 is exact only as a string;
 * the limit keeps the conversion to int64_t defined.
 */
static int json_int(struct reader *rd, const struct message_field *f, int64_t *out)
{
	double v;
	int r;

	if (json_read_peek(&rd->json) != '"') {
		r = json_read_number(&rd->json, &v);
		if (r < 0 || !(v >= -9.2e18 && v <= 9.2e18))
			return -EBADMSG;
		*out = (int64_t)v;
		return (double)*out == v ? 0 : -EBADMSG;
	}
	r = json_read_string(&rd->json);
	if (r < 0)
		return r;
	for (int64_t i = 0; f->names && f->names[i]; i++) {
		if (!strcmp(f->names[i], (const char *)rd->json.text.data)) {
			*out = i;
			return 0;
		}
	}
	return decimal_parse((const char *)rd->json.text.data, out) < 0 ? -EBADMSG : 0;
}

/* The decoded bytes become the memory's own, so they are not copied again. */
static int json_bytes(struct reader *rd, struct message_bytes *out)
{
	_cleanup_(buf_fini) struct buf bytes = { 0 };
	uint8_t *to;
	int r = json_read_string(&rd->json);

	if (r == 0)
		r = base64_decode((const char *)rd->json.text.data, rd->json.text.len, &bytes);
	if (r == -EBADMSG)
		return err_set(rd->err, r, "request: a bytes field is not valid base64");
	if (r < 0)
		return r;
	*out = (struct message_bytes){ NULL, bytes.len };
	if (!bytes.len)
		return 0;
	to = steal_ptr(&bytes.data);
	if (vec_push(rd->memory, to) < 0) {
		free(to);
		return -ENOMEM;
	}
	out->data = to;
	return 0;
}

static int read_json(struct reader *rd, const struct message *m, void *out);

/* Elements are strings or messages; other lists do not occur in these requests. */
static int json_element(struct reader *rd, const struct message_field *f, void *at)
{
	void *element = NULL;
	int r;

	if (f->kind == MESSAGE_STRINGS) {
		r = json_read_string(&rd->json);
		return r < 0 ? r : add_string(rd, at, rd->json.text.data, rd->json.text.len);
	}
	r = add_element(rd, at, f->nested->size, &element);
	return r < 0 ? r : read_json(rd, f->nested, element);
}

static int json_elements(struct reader *rd, const struct message_field *f, void *at)
{
	int r = json_read_open(&rd->json, '[');

	while (r == 0 && (r = json_read_item(&rd->json)) > 0)
		r = json_element(rd, f, at);
	return r;
}

/* Values of the wrong kind are errors, except that doubles may be strings, as in proto3. */
static int json_value(struct reader *rd, const struct message_field *f, void *out)
{
	void *at = (char *)out + f->offset;
	int r;

	if (json_read_peek(&rd->json) == 'n')
		return json_read_skip(&rd->json);
	switch (f->kind) {
	case MESSAGE_INT:
		return json_int(rd, f, at);
	case MESSAGE_BOOL:
		*(bool *)at = json_read_peek(&rd->json) == 't';
		return *(bool *)at || json_read_peek(&rd->json) == 'f' ? json_read_skip(&rd->json)
								       : -EBADMSG;
	case MESSAGE_DOUBLE:
		if (json_read_peek(&rd->json) != '"')
			return json_read_number(&rd->json, at);
		r = json_read_string(&rd->json);
		return r < 0 || decimal_parse_double((const char *)rd->json.text.data, at) == 0
			       ? r
			       : -EBADMSG;
	case MESSAGE_STRING:
		r = json_read_string(&rd->json);
		return r < 0 ? r : copy_string(rd, rd->json.text.data, rd->json.text.len, at);
	case MESSAGE_BYTES:
		return json_bytes(rd, at);
	case MESSAGE_INNER:
		return read_json(rd, f->nested, at);
	default:
		return json_elements(rd, f, at);
	}
}

/* Reads an object by the table @m; members that the table lacks are refused or skipped whole. */
static int read_json(struct reader *rd, const struct message *m, void *out)
{
	int r = ++rd->nesting > MAX_NESTING ? -EBADMSG : json_read_open(&rd->json, '{');

	while (r == 0 && (r = json_read_key(&rd->json)) > 0) {
		const struct message_field *f = field_by_name(m, (const char *)rd->json.text.data);

		if (f) {
			r = json_value(rd, f, out);
			continue;
		}
		if (m->is_strict)
			return err_set(rd->err, -EBADMSG, "request: unknown field \"%.64s\"",
				       (const char *)rd->json.text.data);
		note_ignored(rd, (const char *)rd->json.text.data);
		r = json_read_skip(&rd->json);
	}
	rd->nesting--;
	return r;
}

int message_read(const struct message *m, bool json, const void *data, size_t len,
		 struct message_memory *memory, void *out, struct err *err)
{
	_cleanup_(reader_fini) struct reader rd = { .memory = memory, .err = err };
	int r;

	if (!json) {
		r = read_proto(&rd, m, wire_of(data, len), out);
		return r == -EBADMSG
			       ? err_set(err, r,
					 "request is not a valid protobuf message for this method")
			       : r;
	}
	json_read_init(&rd.json, data, len);
	r = read_json(&rd, m, out);
	if (r == 0)
		r = json_read_end(&rd.json);
	if (r == -EBADMSG)
		return err_set(err, r, "request is not valid JSON for this method, at byte %zu",
			       json_read_at(&rd.json));
	return r;
}
