/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The answers of the RPCs, written once and as protobuf or proto3 JSON, as was asked. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "codec/wire.h"

struct answer {
	bool is_json;
	struct buf *out;
	struct json json;
};

static inline struct answer answer_to(struct buf *out, bool is_json)
{
	return (struct answer){ is_json, out, json_to(out) };
}

/* A field that has its default is left out. */
static inline void answer_string(struct answer *a, uint32_t number, const char *name, const char *s)
{
	if (!s[0])
		return;
	if (!a->is_json) {
		wire_put_bytes(a->out, number, s, __builtin_strlen(s));
		return;
	}
	json_key(&a->json, name);
	json_str(&a->json, s);
}

void answer_int(struct answer *a, uint32_t number, const char *name, int64_t v);
void answer_bool(struct answer *a, uint32_t number, const char *name, bool v);
void answer_double(struct answer *a, uint32_t number, const char *name, double v);

/* Base64 in JSON. */
void answer_bytes(struct answer *a, uint32_t number, const char *name, const void *data,
		  size_t len);

/* A message or an element of a list; @name NULL for the latter and for the whole. */
size_t answer_begin(struct answer *a, uint32_t number, const char *name);
void answer_end(struct answer *a, size_t begun);

/* A list's elements come between, strings by answer_item(). Not for empty ones. */
void answer_list(struct answer *a, const char *name);
void answer_item(struct answer *a, uint32_t number, const char *s);
void answer_list_end(struct answer *a);

/* A packed list of numbers. */
size_t answer_numbers(struct answer *a, uint32_t number, const char *name);
void answer_number(struct answer *a, int64_t v);
void answer_number_int32(struct answer *a, int32_t v);
void answer_number_double(struct answer *a, double v);
void answer_numbers_end(struct answer *a, size_t begun);
