/* SPDX-License-Identifier: Apache-2.0 */
#include "server/answer.h"

#include <string.h>

#include "base/armour.h"
#include "base/buf.h"
#include "base/cleanup.h"

void answer_int(struct answer *a, uint32_t number, const char *name, int64_t v)
{
	if (!a->is_json) {
		wire_put_int(a->out, number, v);
		return;
	}
	if (!v)
		return;
	json_key(&a->json, name);
	json_int_text(&a->json, v);
}

void answer_bool(struct answer *a, uint32_t number, const char *name, bool v)
{
	if (!a->is_json) {
		wire_put_bool(a->out, number, v);
		return;
	}
	if (!v)
		return;
	json_key(&a->json, name);
	json_bool(&a->json, v);
}

void answer_double(struct answer *a, uint32_t number, const char *name, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	if (!a->is_json) {
		wire_put_fixed64(a->out, number, bits);
		return;
	}
	if (!bits)
		return;
	json_key(&a->json, name);
	json_double(&a->json, v);
}

void answer_bytes(struct answer *a, uint32_t number, const char *name, const void *data, size_t len)
{
	_cleanup_(buf_fini) struct buf text = { 0 };

	if (!a->is_json) {
		wire_put_bytes(a->out, number, data, len);
		return;
	}
	armour_put_base64(data, len, &text);
	json_key(&a->json, name);
	json_strn(&a->json, (const char *)text.data, text.len);
}

size_t answer_begin(struct answer *a, uint32_t number, const char *name)
{
	if (!a->is_json)
		return number ? wire_begin(a->out, number) : 0;
	if (name)
		json_key(&a->json, name);
	json_object(&a->json);
	return 0;
}

void answer_end(struct answer *a, size_t begun)
{
	if (a->is_json)
		json_object_end(&a->json);
	else if (begun)
		wire_end(a->out, begun);
}

void answer_list(struct answer *a, const char *name)
{
	if (!a->is_json)
		return;
	json_key(&a->json, name);
	json_array(&a->json);
}

void answer_item(struct answer *a, uint32_t number, const char *s)
{
	if (a->is_json)
		json_str(&a->json, s);
	else
		wire_put_bytes(a->out, number, s, strlen(s));
}

void answer_list_end(struct answer *a)
{
	if (a->is_json)
		json_array_end(&a->json);
}

size_t answer_numbers(struct answer *a, uint32_t number, const char *name)
{
	answer_list(a, name);
	return a->is_json ? 0 : wire_begin(a->out, number);
}

void answer_number(struct answer *a, int64_t v)
{
	if (a->is_json)
		json_int_text(&a->json, v);
	else
		wire_put_varint(a->out, (uint64_t)v);
}

/* JSON has these as numbers, not as strings. */
void answer_number_int32(struct answer *a, int32_t v)
{
	if (a->is_json)
		json_int(&a->json, v);
	else
		wire_put_varint(a->out, (uint64_t)(int64_t)v);
}

void answer_number_double(struct answer *a, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	if (a->is_json)
		json_double(&a->json, v);
	else
		wire_put_fixed64_raw(a->out, bits);
}

void answer_numbers_end(struct answer *a, size_t begun)
{
	if (a->is_json)
		json_array_end(&a->json);
	else
		wire_end(a->out, begun);
}
