/* SPDX-License-Identifier: Apache-2.0 */
/* The same message is decoded from protobuf and from JSON. */
#include "server/message.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "codec/common/wire.h"
#include "tests/test.h"

struct inner {
	const char *text;
};

struct outer {
	const char *text;
	int64_t number;
	struct message_bytes bytes;
	struct message_list list;
};

static const struct message_field inner_fields[] = {
	{ 1, "innerText", MESSAGE_STRING, offsetof(struct inner, text), NULL, NULL },
};
static const struct message inner = { inner_fields, 1, sizeof(struct inner), false };
static const char *const names[] = { "ZERO", "ONE", NULL };

static const struct message_field outer_fields[] = {
	{ 1, "text", MESSAGE_STRING, offsetof(struct outer, text), NULL, NULL },
	{ 2, "aNumber", MESSAGE_INT, offsetof(struct outer, number), NULL, names },
	{ 3, "bytes", MESSAGE_BYTES, offsetof(struct outer, bytes), NULL, NULL },
	{ 4, "list", MESSAGE_LIST, offsetof(struct outer, list), &inner, NULL },
};
static const struct message outer = { outer_fields, 4, sizeof(struct outer), false };

static void assert_whole(const struct outer *o)
{
	assert_string_equal(o->text, "hi");
	assert_int_equal(o->number, 1);
	assert_int_equal(o->bytes.len, 2);
	assert_memory_equal(o->bytes.data, "\0\1", 2);
	assert_int_equal(o->list.len, 2);
	assert_string_equal(((const struct inner *)o->list.data)[1].text, "b");
}

static void protobuf_and_json_decode_alike(void **state)
{
	static const char json[] = "{\"text\":\"hi\",\"a_number\":\"ONE\",\"bytes\":\"AAE=\","
				   "\"other\":[{}],\"list\":[{},{\"inner_text\":\"b\"}]}";
	_cleanup_(message_memory_fini) struct message_memory memory = { 0 };
	_cleanup_(buf_fini) struct buf proto = { 0 };
	struct outer a = { 0 }, b = { 0 };
	size_t at;

	wire_put_bytes(&proto, 1, "hi", 2);
	wire_put_uint(&proto, 2, 1);
	wire_put_bytes(&proto, 3, "\0\1", 2);
	wire_put_bytes(&proto, 4, NULL, 0);
	at = wire_begin(&proto, 4);
	wire_put_bytes(&proto, 1, "b", 1);
	wire_end(&proto, at);
	wire_put_uint(&proto, 9, 5);
	assert_int_equal(message_read(&outer, false, proto.data, proto.len, &memory, &a, NULL), 0);
	assert_int_equal(message_read(&outer, true, json, strlen(json), &memory, &b, NULL), 0);
	assert_whole(&a);
	assert_whole(&b);
	assert_string_equal(memory.ignored, "9,other");
}

static void ignored_fields_are_listed_in_bounds(void **state)
{
	_cleanup_(buf_fini) struct buf json = { 0 };
	_cleanup_(message_memory_fini) struct message_memory memory = { 0 };
	struct outer o = { 0 };

	buf_put_str(&json, "{\"\":1,\"a\\r\\nb: c\":2,\"a\\r\\nb: c\":3");
	for (int i = 0; i < 100; i++)
		buf_printf(&json, ",\"field%d\":{}", i);
	buf_put_str(&json, "}");
	assert_int_equal(message_read(&outer, true, json.data, json.len, &memory, &o, NULL), 0);
	assert_memory_equal(memory.ignored, "_,a__b__c,field0,field1,", 24);
	assert_in_range(strlen(memory.ignored), 100, MESSAGE_IGNORED_MAX - 1);
	assert_string_equal(strrchr(memory.ignored, ','), ",...");
}

static void an_invalid_message_is_refused_with_a_reason(void **state)
{
	static const char *const bad[] = { "",
					   "[]",
					   "{\"text\":1}",
					   "{\"list\":[1]}",
					   "{\"aNumber\":\"TWO\"}",
					   "{\"bytes\":\"*\"}",
					   "{\"text\":\"a\\u0000b\"}" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		_cleanup_(message_memory_fini) struct message_memory memory = { 0 };
		struct outer o = { 0 };
		struct err err = { 0 };

		assert_int_equal(
			message_read(&outer, true, bad[i], strlen(bad[i]), &memory, &o, &err),
			-EBADMSG);
		assert_true(err.msg[0]);
	}
}

static void a_field_of_another_wire_type_is_refused(void **state)
{
	_cleanup_(message_memory_fini) struct message_memory memory = { 0 };
	struct outer o = { 0 };

	assert_int_equal(message_read(&outer, false, "\x08\x01", 2, &memory, &o, NULL), -EBADMSG);
	assert_int_equal(message_read(&outer, false, "\x0a\x05x", 3, &memory, &o, NULL), -EBADMSG);
}

/* Adds what is claimed to *@ctx, and refuses it beyond 4 MiB. */
static int claim(void *ctx, size_t bytes, struct err *err)
{
	size_t *claimed = ctx;

	if (*claimed + bytes > 4 * MESSAGE_CLAIM_BYTES)
		return err_set(err, -ENOMEM, "enough");
	*claimed += bytes;
	return 0;
}

/* @n empty texts, which are two bytes each, or empty elements of the list. */
static int read_many(uint8_t tag, size_t n, size_t *claimed)
{
	_cleanup_(message_memory_fini) struct message_memory memory = { .claim = claim,
									.claim_ctx = claimed };
	_cleanup_(buf_fini) struct buf proto = { 0 };
	struct outer o = { 0 };

	for (size_t i = 0; i < n; i++) {
		buf_put_byte(&proto, tag);
		buf_put_byte(&proto, 0);
	}
	*claimed = 0;
	return message_read(&outer, false, proto.data, proto.len, &memory, &o, NULL);
}

static void memory_is_claimed_before_it_is_allocated(void **state)
{
	const uint8_t text = 1 << 3 | WIRE_LEN, list = 4 << 3 | WIRE_LEN;
	size_t claimed;

	assert_int_equal(read_many(text, 1000, &claimed), 0);
	assert_int_equal(claimed, 0);
	assert_int_equal(read_many(text, 80000, &claimed), 0);
	assert_in_range(claimed, MESSAGE_CLAIM_BYTES, 4 * MESSAGE_CLAIM_BYTES);
	assert_int_equal(read_many(text, 1000000, &claimed), -ENOMEM);
	assert_int_equal(read_many(list, 100000, &claimed), 0);
	assert_in_range(claimed, MESSAGE_CLAIM_BYTES, 4 * MESSAGE_CLAIM_BYTES);
	assert_int_equal(read_many(list, 1000000, &claimed), -ENOMEM);
}

TEST_GROUP(test_message, TEST(protobuf_and_json_decode_alike),
	   TEST(ignored_fields_are_listed_in_bounds),
	   TEST(an_invalid_message_is_refused_with_a_reason),
	   TEST(a_field_of_another_wire_type_is_refused),
	   TEST(memory_is_claimed_before_it_is_allocated))
