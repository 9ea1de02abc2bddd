/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses requests of the API; the first byte selects JSON or protobuf. The message has all kinds of
 * fields.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "server/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct inner {
	const char *text;
	double number;
};

struct outer {
	const char *text;
	struct message_strings texts;
	int64_t number;
	bool flag;
	struct message_bytes bytes;
	struct message_list list;
	struct inner inner;
};

static const struct message_field inner_fields[] = {
	{ 1, "text", MESSAGE_STRING, offsetof(struct inner, text), NULL, NULL },
	{ 2, "number", MESSAGE_DOUBLE, offsetof(struct inner, number), NULL, NULL },
};
static const struct message inner = { inner_fields, 2, sizeof(struct inner), false };
static const char *const names[] = { "ZERO", "ONE", NULL };

static const struct message_field outer_fields[] = {
	{ 1, "text", MESSAGE_STRING, offsetof(struct outer, text), NULL, NULL },
	{ 2, "texts", MESSAGE_STRINGS, offsetof(struct outer, texts), NULL, NULL },
	{ 3, "number", MESSAGE_INT, offsetof(struct outer, number), NULL, names },
	{ 4, "flag", MESSAGE_BOOL, offsetof(struct outer, flag), NULL, NULL },
	{ 5, "bytes", MESSAGE_BYTES, offsetof(struct outer, bytes), NULL, NULL },
	{ 6, "list", MESSAGE_LIST, offsetof(struct outer, list), &inner, NULL },
	{ 7, "inner", MESSAGE_INNER, offsetof(struct outer, inner), &inner, NULL },
};
static const struct message outer = { outer_fields, 7, sizeof(struct outer), false };

/* Checks that the result is readable: strings are terminated, and byte ranges exist. */
static void touch(const struct outer *o)
{
	volatile size_t sum = 0;

	for (size_t i = 0; i < o->texts.len; i++)
		sum += strlen(o->texts.data[i]);
	for (size_t i = 0; i < o->list.len; i++) {
		const struct inner *in = (const void *)(o->list.data + i * sizeof(*in));

		sum += in->text ? strlen(in->text) : 0;
	}
	for (size_t i = 0; i < o->bytes.len; i++)
		sum += ((const uint8_t *)o->bytes.data)[i];
	sum += o->text ? strlen(o->text) : 0;
	(void)sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	_cleanup_(message_memory_fini) struct message_memory memory = { 0 };
	struct outer o = { 0 };

	if (len && message_read(&outer, data[0] & 1, data + 1, len - 1, &memory, &o, NULL) == 0)
		touch(&o);
	return 0;
}
