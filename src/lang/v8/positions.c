/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes V8's tables that lead from code offsets to source positions. Numbers are encoded in
 * groups of seven bits, low ones first, and all bytes but the last have the eighth bit set.
 *
 * A source position table has two signed numbers per entry, each the difference to the entry
 * before: the code offset (see enum v8_positions) and the source position. The sign is in the
 * lowest bit.
 *
 * A baseline table has the sizes of the machine code of a function's prologue and of each of
 * its byte codes. The byte code that it leads to is found by counting: the size of a byte code
 * depends on the code and on whether a prefix widens its operands.
 */
#include "lang/v8/heap.h"

struct reader {
	const uint8_t *data;
	size_t len, at;
};

static bool next_uint(struct reader *r, uint64_t *out)
{
	uint64_t v = 0;

	for (uint32_t shift = 0; shift < 64; shift += 7) {
		uint8_t b;

		if (r->at >= r->len)
			return false;
		b = r->data[r->at++];
		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*out = v;
			return true;
		}
	}
	return false;
}

static bool next_int(struct reader *r, int64_t *out)
{
	uint64_t v;

	if (!next_uint(r, &v))
		return false;
	*out = (int64_t)(v >> 1 ^ -(v & 1));
	return true;
}

/* Reads the difference between the code offsets of the next entry and the one before. */
static bool next_step(struct reader *r, enum v8_positions form, int64_t *out)
{
	uint64_t bits;

	if (form != V8_POSITIONS_FLAGGED) {
		if (!next_int(r, out))
			return false;
		if (*out < 0)
			*out = ~*out;
	} else {
		if (!next_uint(r, &bits))
			return false;
		*out = (int64_t)(bits >> 2);
	}
	*out = (int32_t)*out;
	return true;
}

bool v8_position_at(enum v8_positions form, const uint8_t *table, size_t len, uint32_t code_offset,
		    int64_t *out)
{
	struct reader r = { table, len, 0 };
	uint64_t source = 0;
	int64_t code = form == V8_POSITIONS_FROM_START ? 0 : -1, step, d_source;
	bool found = false;

	while (next_step(&r, form, &step) && next_int(&r, &d_source)) {
		code += step;
		source += (uint64_t)d_source;
		if (code > (int64_t)code_offset)
			break;
		*out = (int64_t)source;
		found = true;
	}
	return found;
}

bool v8_baseline_index(const uint8_t *table, size_t len, uint32_t pc_offset, uint32_t *out)
{
	struct reader r = { table, len, 0 };
	uint64_t end, n;
	uint32_t i;

	if (!next_uint(&r, &end))
		return false;
	for (i = 0; end < pc_offset; i++) {
		if (!next_uint(&r, &n) || n > UINT32_MAX)
			return false;
		end += n;
	}
	*out = i ? i - 1 : 0; /* the prologue counts as the first byte code */
	return true;
}

bool v8_bytecode_at(const uint8_t *code, size_t len, const uint8_t *sizes, size_t n_codes,
		    uint32_t index, uint32_t *out)
{
	size_t at = 0;

	for (uint32_t i = 0; at < len; i++) {
		size_t begin = at, scale = 0, size;

		if (code[at] < V8_PREFIXES) {
			scale = 1 + (code[at] & 1);
			if (++at >= len)
				return false;
		}
		if (code[at] >= n_codes)
			return false;
		if (i == index) {
			*out = (uint32_t)begin;
			return true;
		}
		size = sizes[scale * n_codes + code[at]];
		if (!size)
			return false;
		at += size;
	}
	return false;
}
