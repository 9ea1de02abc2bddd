/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Corrects the position of calls in optimized code by its deoptimization data.
 *
 * The source position table of optimized code exists for profilers only, and the optimizer does
 * not keep it exact: for a call within an inlined function it may have the position where that
 * function itself was called, or an unrelated one. The deoptimization data must be exact,
 * because V8 uses it to continue in the interpreter. It is an array with, among others: the
 * literals (functions), the inlining positions, and for each deoptimization point an entry
 * {byte code offset, start of its translation, pc after the call}. A translation is a byte
 * sequence that describes the interpreter frames to create.
 *
 * The instruction set of translations changes with nearly every V8 version. In all of them, each
 * frame starts with its byte code offset followed by the index of its function's literal, and the
 * entry has the byte code offset of the innermost frame. So translations are not decoded. An
 * inlined function is the caller if the encoded sequence of offset and literal occurs in the
 * translation, and the one closest to its end is the innermost. The encoding of numbers changed
 * once, in version 9.
 *
 * Maglev's entries have the pc of the deoptimization exit instead of that after the call. The
 * safepoint table after the instructions maps one to the other: its rows have the pc after the
 * call, the entry's index and the pc of its exit, each in the smallest number of bytes that
 * fits. A row is found by searching for index and exit.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lang/v8/reader.h"

enum {
	WRAPPED_FUNCTION = 8, /* offset of the function in a SharedFunctionInfoWrapper */
	/* words of an entry: byte code offset, start of its translation, pc after the call */
	ENTRY_WORDS = 3,
	WORDS_BEFORE_ENTRIES = 2, /* minimum number of elements between the index of the inlining
			       positions and the entries */
	ENTRIES_MAX = 1 << 14,
	INLININGS_MAX = 1 << 10,
	TRANSLATIONS = 0,          /* index of the translations */
	TRANSLATION_MAX = 1 << 14, /* limit in bytes of one call's translation */
	ENCODED_MAX = 16,
	SAFEPOINTS_MAX = 8192, /* limit in bytes */
	SAFEPOINTS_MIN = 64,
	CONTINUATION_ABOVE_SINCE = 9, /* first version with the continuation bit above the value */
	SMI_SHIFT = 32,
};

int v8_get_element(const struct v8_heap *h, const struct v8_array *a, int32_t i, uint64_t *out)
{
	if (i < 0 || (uint32_t)i >= a->n)
		return -EBADMSG;
	return v8_get_object(h, a->at + (uint64_t)i * 8, out);
}

int v8_get_inlining(const struct v8_heap *h, const struct v8_deopt *d, int32_t i,
		    struct v8_inlining *out)
{
	if (i < 0 || (uint64_t)(i + 1) * sizeof(*out) > d->inlined.n)
		return -EBADMSG;
	return v8_get(h, d->inlined.at + (uint64_t)i * sizeof(*out), out, sizeof(*out));
}

int v8_get_deopt(const struct v8_heap *h, const struct v8_code *c, struct v8_deopt *out)
{
	uint64_t object;
	int r = v8_get_object(h, c->object + h->shape.code_deopt, &object);

	out->end = c->start + c->size;
	out->size = c->size;
	out->is_maglev = c->kind + 1 == h->shape.kind_top;

	if (r == 0)
		r = v8_get_array(h, object, &out->data);
	if (r == 0)
		r = v8_get_element(h, &out->data, h->shape.deopt_shared, &out->shared);
	if (r == 0 && v8_type(h, out->shared) != h->vm->f.type_shared)
		r = v8_get_object(h, out->shared + WRAPPED_FUNCTION, &out->shared);
	if (r == 0)
		r = v8_get_element(h, &out->data, h->shape.deopt_literals, &object);
	if (r == 0)
		r = v8_get_array(h, object, &out->literals);
	if (r == 0)
		r = v8_get_element(h, &out->data, h->shape.deopt_inlined, &object);
	return r < 0 ? r : v8_get_array(h, object, &out->inlined);
}

/* ---- entries of calls -------------------------------------------------------------- */

struct entry {
	uint32_t offset, begin, end; /* byte code offset; range of the translation */
};

/*
 * Finds the entry of the call that returns to @pc, or with @near that of the last call up to
 * @pc. A translation ends where the next one starts.
 */
static bool find_entry(const uint64_t *words, uint32_t n, uint32_t pc, bool near, struct entry *out)
{
	uint32_t last = near ? 0 : pc;
	bool found = false;

	for (uint32_t i = 0; i + ENTRY_WORDS <= n; i += ENTRY_WORDS) {
		uint32_t at = (uint32_t)(words[i + 2] >> SMI_SHIFT);

		/* Entries without a return address have -1. */
		if (at < last || at > pc)
			continue;
		*out = (struct entry){ .offset = (uint32_t)(words[i] >> SMI_SHIFT),
				       .begin = (uint32_t)(words[i + 1] >> SMI_SHIFT) };
		last = at;
		found = true;
	}
	out->end = UINT32_MAX;
	for (uint32_t i = 0; i + ENTRY_WORDS <= n; i += ENTRY_WORDS) {
		uint32_t begin = (uint32_t)(words[i + 1] >> SMI_SHIFT);

		if (begin > out->begin && begin < out->end)
			out->end = begin;
	}
	return found;
}

static size_t encoded_bytes(uint32_t v)
{
	return v < 1 << 8 ? 1 : v < 1 << 16 ? 2 : v < 1 << 24 ? 3 : 4;
}

/*
 * Finds the pc after the call of entry @i, whose exit is at @exit_pc. Returns 0 if it is not in
 * the table.
 */
static uint32_t find_safepoint(const uint8_t *table, size_t len, const uint32_t sizes[2],
			       uint32_t i, uint32_t exit_pc)
{
	/* Some versions store both numbers plus 1, since -1 marks a row that has none. */
	for (uint32_t adjust = 0; adjust < 2; adjust++) {
		uint32_t number = i + adjust, stored_exit = exit_pc + adjust, pc = 0;
		uint8_t key[2 * sizeof(uint32_t)];

		memcpy(key, &number, sizes[1]);
		memcpy(key + sizes[1], &stored_exit, sizes[0]);
		for (size_t at = sizes[0]; at + sizes[0] + sizes[1] <= len; at++) {
			if (memcmp(table + at, key, sizes[0] + sizes[1]) != 0)
				continue;
			memcpy(&pc, table + at - sizes[0], sizes[0]);
			if (pc < exit_pc)
				return pc;
		}
	}
	return 0;
}

/* Replaces the pc of the exit in each of Maglev's entries by the pc after the call. */
static void resolve_safepoints(const struct v8_heap *h, const struct v8_deopt *d, uint64_t *words,
			       uint32_t n)
{
	uint8_t table[SAFEPOINTS_MAX];
	uint32_t last = 0, sizes[2];
	size_t len = sizeof(table);

	while (len >= SAFEPOINTS_MIN && v8_get(h, d->end, table, len) < 0)
		len /= 2;
	for (uint32_t i = 2; i < n; i += ENTRY_WORDS)
		if ((int32_t)(words[i] >> SMI_SHIFT) > (int32_t)last)
			last = (uint32_t)(words[i] >> SMI_SHIFT);
	if (len < SAFEPOINTS_MIN || last > d->size)
		return;
	sizes[0] = (uint32_t)encoded_bytes(last + 1);
	sizes[1] = (uint32_t)encoded_bytes(n / ENTRY_WORDS);
	for (uint32_t i = 2; i < n; i += ENTRY_WORDS) {
		uint32_t exit_pc = (uint32_t)(words[i] >> SMI_SHIFT), pc = UINT32_MAX;

		if (exit_pc <= last)
			pc = find_safepoint(table, len, sizes, i / ENTRY_WORDS, exit_pc);
		words[i] = (uint64_t)(pc ? pc : UINT32_MAX) << SMI_SHIFT;
	}
}

static int get_entry(const struct v8_heap *h, const struct v8_deopt *d, uint32_t pc, bool near,
		     struct entry *out)
{
	uint32_t first = h->shape.deopt_inlined + WORDS_BEFORE_ENTRIES;
	uint64_t *words;
	uint32_t n;
	int r;

	while (first < d->data.n && (d->data.n - first) % ENTRY_WORDS)
		first++;
	if (first >= d->data.n || d->data.n > ENTRIES_MAX)
		return -ENOENT;
	n = d->data.n - first;
	words = calloc(n, sizeof(*words));
	if (!words)
		return -ENOMEM;
	r = v8_get(h, d->data.at + first * 8ULL, words, n * sizeof(*words));
	if (r == 0 && d->is_maglev)
		resolve_safepoints(h, d, words, n);
	if (r == 0)
		r = find_entry(words, n, pc, near, out) ? 0 : -ENOENT;
	free(words);
	return r;
}

/* ---- translations -------------------------------------------------------------------- */

/*
 * Encodes a number in groups of seven bits, low ones first, with its sign in the lowest bit.
 * The continuation bit is the highest bit of each byte, or with @below the lowest one.
 */
static size_t put_number(uint32_t v, bool below, uint8_t *out)
{
	uint64_t rest = (uint64_t)v << 1;
	size_t n = 0;

	do {
		uint8_t bits = rest & 0x7f;

		rest >>= 7;
		out[n++] = (uint8_t)(below ? bits << 1 | (rest != 0) : bits | (rest ? 0x80 : 0));
	} while (rest);
	return n;
}

/*
 * Finds the last frame of function @literal at byte code offset @offset. Returns the position
 * after its start in @frames, or 0 if there is none.
 */
static size_t find_encoded_start(const uint8_t *frames, size_t len, uint32_t offset,
				 uint32_t literal, bool below)
{
	uint8_t encoded[ENCODED_MAX];
	size_t n = put_number(offset, below, encoded);

	n += put_number(literal, below, encoded + n);
	for (size_t at = len; at > n; at--)
		if (!memcmp(frames + at - n, encoded, n))
			return at;
	return 0;
}

/* Reads the source position of the byte code at offset @offset. */
static bool get_source(const struct v8_heap *h, uint64_t shared, uint32_t offset, int32_t *out)
{
	uint64_t bytecode;
	int64_t position;
	uint8_t *table;
	bool found;
	size_t len;

	if (v8_get_bytecode(h, shared, &bytecode) < 0 ||
	    v8_get_positions(h, bytecode + h->shape.bytecode_positions, &table, &len) < 0)
		return false;
	found = v8_position_at(h->shape.positions, table, len, offset, &position);
	free(table);
	*out = V8_SOURCE_OFFSET(position);
	return found && !V8_SOURCE_IS_EXTERNAL(position);
}

/* Reads the SharedFunctionInfo of inlining @i, or with -1 that of the optimized function. */
static int get_shared(const struct v8_heap *h, const struct v8_deopt *d, int32_t i, uint64_t *out)
{
	struct v8_inlining inlining;
	int r;

	if (i < 0) {
		*out = d->shared;
		return 0;
	}
	r = v8_get_inlining(h, d, i, &inlining);
	return r < 0 ? r : v8_get_element(h, &d->literals, inlining.function, out);
}

/* Returns whether the function in @position has its source position at byte code offset @offset. */
static bool is_confirmed(const struct v8_heap *h, const struct v8_deopt *d, uint32_t offset,
			 int64_t position)
{
	uint64_t shared;
	int32_t source;

	return get_shared(h, d, V8_SOURCE_INLINING(position), &shared) == 0 &&
	       get_source(h, shared, offset, &source) && source == V8_SOURCE_OFFSET(position);
}

/* Returns the index of the literal for the function of inlining @i, or -1 if there is none. */
static int32_t find_literal(const struct v8_heap *h, const struct v8_deopt *d, int32_t i)
{
	struct v8_inlining inlining;
	uint64_t object;

	if (i >= 0)
		return v8_get_inlining(h, d, i, &inlining) < 0 ? -1 : inlining.function;
	for (int32_t n = 0; n < INLININGS_MAX && (uint32_t)n < d->literals.n; n++)
		if (v8_get_element(h, &d->literals, n, &object) == 0 && object == d->shared)
			return n;
	return -1;
}

/*
 * Finds the last frame of inlining @i at @offset. Returns the position after its start, or 0 if
 * there is none.
 */
static size_t find_frame(const struct v8_heap *h, const struct v8_deopt *d, int32_t i,
			 uint32_t offset, const uint8_t *frames, size_t len)
{
	int32_t literal = find_literal(h, d, i);
	size_t at;

	if (literal < 0)
		return 0;
	at = find_encoded_start(frames, len, offset, (uint32_t)literal, false);
	if (!at && h->vm->major < CONTINUATION_ABOVE_SINCE)
		at = find_encoded_start(frames, len, offset, (uint32_t)literal, true);
	return at;
}

/* Returns whether inlining @i was called at @position. */
static bool is_called_at(const struct v8_heap *h, const struct v8_deopt *d, int32_t i,
			 int64_t position)
{
	struct v8_inlining inlining;

	return i >= 0 && v8_get_inlining(h, d, i, &inlining) == 0 && inlining.position == position;
}

/*
 * Finds the inlining whose frame is the last one in @frames, and stores its source position. If
 * one function was inlined several times, the one called at the position in the table is
 * preferred. Returns false if no frame matches, or if @len exceeds the size of any real
 * translation.
 */
static bool find_inlining(const struct v8_heap *h, const struct v8_deopt *d, uint32_t offset,
			  const uint8_t *frames, size_t len, int64_t *position)
{
	int32_t n = (int32_t)(d->inlined.n / sizeof(struct v8_inlining)), source;
	int64_t table_position = *position;
	size_t best = 0, at;
	uint64_t shared;

	if (len > TRANSLATION_MAX)
		return false;
	if (n > INLININGS_MAX)
		n = INLININGS_MAX;
	for (int32_t i = -1; i < n; i++) {
		at = 2 * find_frame(h, d, i, offset, frames, len);
		at += at && is_called_at(h, d, i, table_position);
		if (at > best && get_shared(h, d, i, &shared) == 0 &&
		    get_source(h, shared, offset, &source)) {
			best = at;
			*position = V8_SOURCE(source, i);
		}
	}
	return best > 0;
}

/*
 * Identical frames are not repeated: the first number of a translation is the distance back to
 * those it shares. Returns 0 if it is not a valid distance.
 */
static size_t find_repeated(const uint8_t *frames, uint32_t begin, size_t len)
{
	size_t back = 0;

	for (uint32_t i = 0; i < 4 && begin + 1 + i < len; i++) {
		uint8_t b = frames[begin + 1 + i];

		back |= (size_t)(b & 0x7f) << (7 * i);
		if (!(b & 0x80))
			break;
	}
	return back <= begin ? back : 0;
}

void v8_correct_call(const struct v8_heap *h, const struct v8_deopt *d, uint32_t pc, bool near,
		     int64_t *position)
{
	uint8_t *frames;
	struct entry e = { 0 };
	size_t len;

	if (!d->inlined.n || get_entry(h, d, pc, near, &e) < 0 ||
	    is_confirmed(h, d, e.offset, *position) ||
	    v8_get_bytes(h, d->data.at + 8ULL * TRANSLATIONS, &frames, &len) < 0)
		return;
	if (e.end < len)
		len = e.end;
	if (e.begin < len &&
	    !find_inlining(h, d, e.offset, frames + e.begin, len - e.begin, position)) {
		size_t back = find_repeated(frames, e.begin, len);

		(void)find_inlining(h, d, e.offset, frames + e.begin - back, back, position);
	}
	free(frames);
}
