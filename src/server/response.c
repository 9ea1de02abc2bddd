/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Default values are omitted in both encodings. In JSON, 64-bit integers are strings, as proto3
 * defines it.
 */
#include "server/response.h"

#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/cleanup.h"

void response_put_string(struct response *resp, uint32_t number, const char *name, const char *s)
{
	if (!s[0])
		return;
	if (!resp->is_json) {
		wire_put_text(resp->out, number, s, strlen(s));
		return;
	}
	json_key(&resp->json, name);
	json_str(&resp->json, s);
}

void response_put_int(struct response *resp, uint32_t number, const char *name, int64_t v)
{
	if (!resp->is_json) {
		wire_put_int(resp->out, number, v);
	} else if (v) {
		json_key(&resp->json, name);
		json_int_text(&resp->json, v);
	}
}

void response_put_bool(struct response *resp, uint32_t number, const char *name, bool v)
{
	if (!resp->is_json)
		wire_put_bool(resp->out, number, v);
	else if (v)
		json_member_bool(&resp->json, name, v);
}

/* The default is +0 alone: -0 has other bits, and proto3 sends it. */
void response_put_double(struct response *resp, uint32_t number, const char *name, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	if (!resp->is_json)
		wire_put_fixed64(resp->out, number, bits);
	else if (bits)
		json_member_double(&resp->json, name, v);
}

void response_put_bytes(struct response *resp, uint32_t number, const char *name, const void *data,
			size_t len)
{
	_cleanup_(buf_fini) struct buf text = { 0 };

	if (!resp->is_json) {
		wire_put_bytes(resp->out, number, data, len);
		return;
	}
	base64_encode(data, len, &text);
	json_key(&resp->json, name);
	json_strn(&resp->json, (const char *)text.data, text.len);
}

/* Number 0 is the response itself, which has no frame of its own in protobuf. */
size_t response_begin(struct response *resp, uint32_t number, const char *name)
{
	if (!resp->is_json)
		return number ? wire_begin(resp->out, number) : 0;
	if (name)
		json_key(&resp->json, name);
	json_object(&resp->json);
	return 0;
}

void response_end(struct response *resp, size_t mark)
{
	if (resp->is_json)
		json_object_end(&resp->json);
	else if (mark)
		wire_end(resp->out, mark);
}

void response_begin_list(struct response *resp, const char *name)
{
	if (resp->is_json)
		json_member_array(&resp->json, name);
}

void response_put_item(struct response *resp, uint32_t number, const char *s)
{
	if (resp->is_json)
		json_str(&resp->json, s);
	else
		wire_put_text(resp->out, number, s, strlen(s));
}

void response_end_list(struct response *resp)
{
	if (resp->is_json)
		json_array_end(&resp->json);
}

size_t response_begin_numbers(struct response *resp, uint32_t number, const char *name)
{
	response_begin_list(resp, name);
	return resp->is_json ? 0 : wire_begin(resp->out, number);
}

void response_put_number(struct response *resp, int64_t v)
{
	if (resp->is_json)
		json_int_text(&resp->json, v);
	else
		wire_put_varint(resp->out, (uint64_t)v);
}

/* In JSON, int64 are strings but int32 are numbers. */
void response_put_number_int32(struct response *resp, int32_t v)
{
	if (resp->is_json)
		json_int(&resp->json, v);
	else
		wire_put_varint(resp->out, (uint64_t)(int64_t)v);
}

void response_put_number_double(struct response *resp, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	if (resp->is_json)
		json_double(&resp->json, v);
	else
		wire_put_fixed64_raw(resp->out, bits);
}

void response_end_numbers(struct response *resp, size_t mark)
{
	if (resp->is_json)
		json_array_end(&resp->json);
	else
		wire_end(resp->out, mark);
}
