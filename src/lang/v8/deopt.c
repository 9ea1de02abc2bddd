/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What optimized code keeps in order to be left: the functions that were inlined, and for each
 * call the frames that the interpreter would have there. The table of positions is made for
 * profilers only, and the optimizer loses track: of calls of an inlined function it may say the
 * place where that was called itself, or another one. The frames are never wrong.
 *
 * They are written in a language whose words change with nearly every version. What does not
 * change is that a frame's begins with the place in its byte code and the literal that is its
 * function; and the place of the innermost one is there without any words. So a
 * function is the one that called if the pair is there. The numbers' encoding has
 * changed once.
 *
 * Maglev's entries have the place where the code is left instead of that of the call; which call
 * that is of, the table of safepoints says behind the instructions: where the call returns to, the
 * entry's number and its place, each of as many bytes as are needed. These last two are
 * looked for.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lang/v8/reader.h"

enum {
	WRAPPED = 8, /* the function in its wrapper */
	/* the entries: place in the byte code, begin of the frames, where a call returns to */
	ENTRY_WORDS = 3,
	BEFORE_ENTRIES = 2, /* at least so many elements follow the index of the inlinings */
	ENTRIES_MAX = 1 << 14,
	INLININGS_MAX = 1 << 10,
	FRAMES = 0,           /* the index of what describes them */
	FRAMES_MAX = 1 << 14, /* bytes of those of one call */
	PAIR_MAX = 16,
	SAFEPOINTS_MAX = 8192, /* bytes read of the table */
	SAFEPOINTS_MIN = 64,
	ABOVE_SINCE = 9, /* the version */
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
		r = v8_get_object(h, out->shared + WRAPPED, &out->shared);
	if (r == 0)
		r = v8_get_element(h, &out->data, h->shape.deopt_literals, &object);
	if (r == 0)
		r = v8_get_array(h, object, &out->literals);
	if (r == 0)
		r = v8_get_element(h, &out->data, h->shape.deopt_inlined, &object);
	return r < 0 ? r : v8_get_array(h, object, &out->inlined);
}

/* ---- a call's entry ---------------------------------------------------------------- */

struct entry {
	uint32_t place, begin, end; /* in the byte code; of its frames */
};

/*
 * That of the last call that returns to @pc or before; without @near, to @pc. Its frames end where
 * others begin.
 */
static bool find_entry(const uint64_t *words, uint32_t n, uint32_t pc, bool near, struct entry *out)
{
	uint32_t last = near ? 0 : pc;
	bool found = false;

	for (uint32_t i = 0; i + ENTRY_WORDS <= n; i += ENTRY_WORDS) {
		uint32_t at = (uint32_t)(words[i + 2] >> SMI_SHIFT);

		/* those that nothing returns to have -1 */
		if (at < last || at > pc)
			continue;
		*out = (struct entry){ .place = (uint32_t)(words[i] >> SMI_SHIFT),
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

static size_t bytes_of(uint32_t v)
{
	return v < 1 << 8 ? 1 : v < 1 << 16 ? 2 : v < 1 << 24 ? 3 : 4;
}

/* Where the call of entry @i returns to, which leaves at @place; 0: not known. */
static uint32_t find_safepoint(const uint8_t *table, size_t len, const uint32_t sizes[2],
			       uint32_t i, uint32_t place)
{
	/* either may be one more, so that none is negative */
	for (uint32_t more = 0; more < 2; more++) {
		uint32_t number = i + more, left = place + more, pc = 0;
		uint8_t wanted[2 * sizeof(uint32_t)];

		memcpy(wanted, &number, sizes[1]);
		memcpy(wanted + sizes[1], &left, sizes[0]);
		for (size_t at = sizes[0]; at + sizes[0] + sizes[1] <= len; at++) {
			if (memcmp(table + at, wanted, sizes[0] + sizes[1]) != 0)
				continue;
			memcpy(&pc, table + at - sizes[0], sizes[0]);
			if (pc < place)
				return pc;
		}
	}
	return 0;
}

/* Puts in place of where Maglev's code is left where the call returns to. */
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
	sizes[0] = (uint32_t)bytes_of(last + 1);
	sizes[1] = (uint32_t)bytes_of(n / ENTRY_WORDS);
	for (uint32_t i = 2; i < n; i += ENTRY_WORDS) {
		uint32_t place = (uint32_t)(words[i] >> SMI_SHIFT), pc = UINT32_MAX;

		if (place <= last)
			pc = find_safepoint(table, len, sizes, i / ENTRY_WORDS, place);
		words[i] = (uint64_t)(pc ? pc : UINT32_MAX) << SMI_SHIFT;
	}
}

static int get_entry(const struct v8_heap *h, const struct v8_deopt *d, uint32_t pc, bool near,
		     struct entry *out)
{
	uint32_t first = h->shape.deopt_inlined + BEFORE_ENTRIES;
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

/* ---- its frames ---------------------------------------------------------------------- */

/* Seven bits in a byte, with whether more follow above them, or below them; the sign is below. */
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

/* Where in @frames the last one is of @literal, plus 1; 0: none is. */
static size_t find_pair(const uint8_t *frames, size_t len, uint32_t place, uint32_t literal,
			bool below)
{
	uint8_t pair[PAIR_MAX];
	size_t n = put_number(place, below, pair);

	n += put_number(literal, below, pair + n);
	for (size_t at = len; at > n; at--)
		if (!memcmp(frames + at - n, pair, n))
			return at;
	return 0;
}

/* The place in the source of the byte code at @place. */
static bool get_source(const struct v8_heap *h, uint64_t shared, uint32_t place, int32_t *out)
{
	uint64_t bytecode;
	int64_t position;
	uint8_t *table;
	bool found;
	size_t len;

	if (v8_get_bytecode(h, shared, &bytecode) < 0 ||
	    v8_get_positions(h, bytecode + h->shape.bytecode_positions, &table, &len) < 0)
		return false;
	found = v8_position_at(h->shape.positions, table, len, place, &position);
	free(table);
	*out = V8_SOURCE_OFFSET(position);
	return found && !V8_SOURCE_IS_OTHER(position);
}

/* The function that inlining @i is of; -1: that of the code. */
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

/* Is the byte code at @place what the table says that the source is? */
static bool is_confirmed(const struct v8_heap *h, const struct v8_deopt *d, uint32_t place,
			 int64_t position)
{
	uint64_t shared;
	int32_t source;

	return get_shared(h, d, V8_SOURCE_INLINING(position), &shared) == 0 &&
	       get_source(h, shared, place, &source) && source == V8_SOURCE_OFFSET(position);
}

/* The number of the literal that inlining @i is of; -1: none. */
static int32_t literal_of(const struct v8_heap *h, const struct v8_deopt *d, int32_t i)
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

/* Where the last frame is in @frames that is inlining @i's at @place, plus 1; 0: nowhere. */
static size_t find_frame(const struct v8_heap *h, const struct v8_deopt *d, int32_t i,
			 uint32_t place, const uint8_t *frames, size_t len)
{
	int32_t literal = literal_of(h, d, i);
	size_t at;

	if (literal < 0)
		return 0;
	at = find_pair(frames, len, place, (uint32_t)literal, false);
	if (!at && h->vm->major < ABOVE_SINCE)
		at = find_pair(frames, len, place, (uint32_t)literal, true);
	return at;
}

/* Was inlining @i called at @position? */
static bool is_called_at(const struct v8_heap *h, const struct v8_deopt *d, int32_t i,
			 int64_t position)
{
	struct v8_inlining inlining;

	return i >= 0 && v8_get_inlining(h, d, i, &inlining) == 0 && inlining.position == position;
}

/*
 * The inlining whose frame is the last of those in @frames; of several of one function, that
 * which was called at @position. What is longer than any call's is none.
 */
static bool find_inlining(const struct v8_heap *h, const struct v8_deopt *d, uint32_t place,
			  const uint8_t *frames, size_t len, int64_t *position)
{
	int32_t n = (int32_t)(d->inlined.n / sizeof(struct v8_inlining)), source;
	int64_t said = *position;
	size_t best = 0, at;
	uint64_t shared;

	if (len > FRAMES_MAX)
		return false;
	if (n > INLININGS_MAX)
		n = INLININGS_MAX;
	for (int32_t i = -1; i < n; i++) {
		at = 2 * find_frame(h, d, i, place, frames, len);
		at += at && is_called_at(h, d, i, said);
		if (at > best && get_shared(h, d, i, &shared) == 0 &&
		    get_source(h, shared, place, &source)) {
			best = at;
			*position = V8_SOURCE(source, i);
		}
	}
	return best > 0;
}

/*
 * Those frames that are the same as another call's are not repeated: the first number tells how far
 * back that is. 0: it is none.
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
	    is_confirmed(h, d, e.place, *position) ||
	    v8_get_bytes(h, d->data.at + 8ULL * FRAMES, &frames, &len) < 0)
		return;
	if (e.end < len)
		len = e.end;
	if (e.begin < len &&
	    !find_inlining(h, d, e.place, frames + e.begin, len - e.begin, position)) {
		size_t back = find_repeated(frames, e.begin, len);

		(void)find_inlining(h, d, e.place, frames + e.begin - back, back, position);
	}
	free(frames);
}
