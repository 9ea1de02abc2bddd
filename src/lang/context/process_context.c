/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The message is a ProcessContext {1: Resource, 2: repeated KeyValue}. The names are the array
 * "threadlocal.attribute_key_map" among its attributes: their positions are the keys. Writers only
 * append to it.
 */
#include "lang/context/process_context.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lang/language.h"

enum {
	VERSION = 2,
	TRIES = 3, /* if the context changes during each, it is being written */
	VARINT_BYTES_MAX = 10,
	/* wire types */
	VARINT = 0,
	FIXED64 = 1,
	BYTES = 2,
	FIXED32 = 5,
	/* fields */
	CONTEXT_ATTRIBUTE = 2,
	KEY_VALUE_KEY = 1,
	KEY_VALUE_VALUE = 2,
	ANY_STRING = 1,
	ANY_ARRAY = 5,
	ARRAY_VALUE = 1,
};

static const char signature[8] = { 'O', 'T', 'E', 'L', '_', 'C', 'T', 'X' };
static const char map_key[] = "threadlocal.attribute_key_map";

struct header {
	char signature[8];
	uint32_t version, payload_len;
	uint64_t published_ns; /* 0: it is being written */
	uint64_t payload;
};
_Static_assert(sizeof(struct header) == 32, "as in memory");

/* ---- protobuf ------------------------------------------------------------------------------- */

struct bytes {
	const uint8_t *at;
	size_t len;
};

struct field {
	uint32_t number, type;
	struct bytes bytes; /* of type BYTES */
};

static bool take_varint(struct bytes *b, uint64_t *out)
{
	*out = 0;
	for (unsigned int i = 0; i < VARINT_BYTES_MAX && i < b->len; i++) {
		*out |= (uint64_t)(b->at[i] & 0x7f) << (7 * i);
		if (b->at[i] & 0x80)
			continue;
		b->at += i + 1;
		b->len -= i + 1;
		return true;
	}
	return false;
}

static bool skip(struct bytes *b, uint64_t n)
{
	if (n > b->len)
		return false;
	b->at += n;
	b->len -= n;
	return true;
}

/* Return: 1 and the next field; 0 at the end; -EBADMSG. */
static int next(struct bytes *b, struct field *out)
{
	uint64_t tag, n = 0;
	bool good;

	if (!b->len)
		return 0;
	if (!take_varint(b, &tag))
		return -EBADMSG;
	*out = (struct field){ .number = (uint32_t)(tag >> 3), .type = (uint32_t)(tag & 7) };
	switch (out->type) {
	case VARINT:
		good = take_varint(b, &n);
		break;
	case FIXED64:
		good = skip(b, 8);
		break;
	case FIXED32:
		good = skip(b, 4);
		break;
	case BYTES:
		good = take_varint(b, &n);
		out->bytes = (struct bytes){ b->at, (size_t)n };
		good = good && skip(b, n);
		break;
	default:
		good = false;
	}
	return good ? 1 : -EBADMSG;
}

/*
 * Finds the last field @number of type BYTES; *@out is empty if there is none. Return: 0 or
 * -EBADMSG.
 */
static int find(struct bytes b, uint32_t number, struct bytes *out)
{
	struct field f;
	int r;

	*out = (struct bytes){ NULL, 0 };
	while ((r = next(&b, &f)) > 0)
		if (f.number == number && f.type == BYTES)
			*out = f.bytes;
	return r;
}

/* ---- the message ---------------------------------------------------------------------------- */

/* Appends a name, truncated to the space that it has. */
static int add_name(struct context_names *names, struct bytes value)
{
	size_t n;
	struct bytes text;
	char *name;
	int r = find(value, ANY_STRING, &text);

	if (r < 0 || names->n == CONTEXT_NAMES_MAX)
		return r;
	name = names->names[names->n++];
	n = text.len < CONTEXT_NAME_BYTES - 1 ? text.len : CONTEXT_NAME_BYTES - 1;
	memset(name, 0, CONTEXT_NAME_BYTES);
	if (n)
		memcpy(name, text.at, n);
	return 0;
}

static int read_map(struct bytes value, struct context_names *out)
{
	struct bytes array;
	struct field f;
	int r = find(value, ANY_ARRAY, &array);

	out->n = 0;
	if (r < 0)
		return r;
	while ((r = next(&array, &f)) > 0)
		if (f.number == ARRAY_VALUE && f.type == BYTES && add_name(out, f.bytes) < 0)
			return -EBADMSG;
	return r;
}

int process_context_parse(const uint8_t *data, size_t len, struct context_names *out)
{
	struct bytes b = { data, len }, key, value;
	struct field f;
	int r;

	memset(out, 0, sizeof(*out));
	while ((r = next(&b, &f)) > 0) {
		if (f.number != CONTEXT_ATTRIBUTE || f.type != BYTES)
			continue;
		r = find(f.bytes, KEY_VALUE_KEY, &key);
		if (r == 0)
			r = find(f.bytes, KEY_VALUE_VALUE, &value);
		if (r == 0 && key.len == strlen(map_key) && !memcmp(key.at, map_key, key.len))
			r = read_map(value, out);
		if (r < 0)
			return r;
	}
	return r;
}

/* ---- memory --------------------------------------------------------------------------------- */

/* Return: 0; -EAGAIN if the context changed meanwhile; -ENOENT; -EBADMSG; -ENOMEM. */
static int read_once(const struct lang_process *p, uint64_t at, struct context_names *out)
{
	struct header before, after;
	uint8_t *data;
	int r;

	if (p->read(p->ctx, at, &before, sizeof(before)) < 0 ||
	    memcmp(before.signature, signature, sizeof(signature)) != 0)
		return -ENOENT;
	if (!before.published_ns)
		return -EAGAIN;
	if (before.version != VERSION || before.payload_len > PROCESS_CONTEXT_BYTES_MAX)
		return -EBADMSG;
	data = malloc(before.payload_len ? before.payload_len : 1);
	if (!data)
		return -ENOMEM;
	r = p->read(p->ctx, before.payload, data, before.payload_len) < 0 ? -EAGAIN : 0;
	if (r == 0 && (p->read(p->ctx, at, &after, sizeof(after)) < 0 ||
		       after.published_ns != before.published_ns))
		r = -EAGAIN;
	if (r == 0)
		r = process_context_parse(data, before.payload_len, out);
	free(data);
	return r;
}

void process_context_read(const struct lang_process *p, uint64_t at, struct process_context *out)
{
	memset(out, 0, sizeof(*out));
	out->result = -EAGAIN;
	for (int i = 0; i < TRIES && out->result == -EAGAIN; i++)
		out->result = read_once(p, at, &out->names);
	if (out->result < 0)
		memset(&out->names, 0, sizeof(out->names));
}

int process_context_check(const struct process_context *c)
{
	if (c->result > 0 || c->result < -4095 || c->names.n > CONTEXT_NAMES_MAX)
		return -EBADMSG;
	for (uint32_t i = 0; i < c->names.n; i++)
		if (c->names.names[i][CONTEXT_NAME_BYTES - 1])
			return -EBADMSG;
	return 0;
}
