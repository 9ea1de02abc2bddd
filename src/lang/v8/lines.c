/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the lines of a function begin, as characters of its script. V8 has the ends of a
 * script's lines only once it wanted them; else the text is searched, up to the function's
 * end. What is kept of a function is the beginnings of its lines, the first of them
 * where the line that it begins in does.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lang/v8/heap.h"

enum {
	CHUNK = 1 << 15, /* bytes */
	SCRIPT_LINE_OFFSET = 24,
	SOURCE_MAX = 1 << 26,    /* characters */
	LINE_SEPARATOR = 0x2028, /* and the next one: of paragraphs */
};

struct lines {
	const struct v8_function *f;
	uint32_t line, begin; /* that is read: its number from 0, its first character */
	uint32_t *begins;
	uint32_t n, cap;
};

/* The line that began at l->begin. */
static int keep_line(struct lines *l)
{
	uint32_t *grown;

	if (l->n == LANG_LINES_MAX / sizeof(*l->begins))
		return 0; /* the rest is of the last */
	if (l->n == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 16;
		grown = reallocarray(l->begins, l->cap, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		l->begins = grown;
	}
	l->begins[l->n++] = l->begin;
	return 0;
}

/* A line begins at @begin: is the one before in the function? 1: it is the last one. */
static int next_line(struct lines *l, uint32_t begin)
{
	int r = 0;

	if (begin > (uint32_t)l->f->start)
		r = keep_line(l);
	if (r == 0 && begin > (uint32_t)l->f->end)
		r = 1;
	l->begin = begin;
	if (!l->n)
		l->line++;
	return r;
}

static int search_chunk(struct lines *l, const uint8_t *chunk, uint32_t n, uint32_t width,
			uint32_t at, uint32_t *before)
{
	int r = 0;

	for (uint32_t i = 0; i < n && r == 0; i++) {
		uint16_t wide;
		uint32_t c = chunk[i];

		if (width == 2) {
			memcpy(&wide, chunk + 2 * i, sizeof(wide));
			c = wide;
		}
		/* a return ends its line unless a line feed does so behind it */
		if (*before == '\r' && c != '\n')
			r = next_line(l, at + i);
		if (r == 0 && (c == '\n' || c == LINE_SEPARATOR || c == LINE_SEPARATOR + 1))
			r = next_line(l, at + i + 1);
		*before = c;
	}
	return r;
}

static int search_text(const struct v8_heap *h, const struct v8_text *t, struct lines *l)
{
	uint32_t n = t->n < SOURCE_MAX ? t->n : SOURCE_MAX, before = 0;
	uint8_t *chunk = malloc(CHUNK);
	int r = chunk ? 0 : -ENOMEM;

	for (uint32_t at = 0; at < n && r == 0;) {
		uint32_t part = CHUNK / t->width < n - at ? CHUNK / t->width : n - at;

		r = v8_get(h, t->at + (uint64_t)at * t->width, chunk, (size_t)part * t->width);
		if (r == 0)
			r = search_chunk(l, chunk, part, t->width, at, &before);
		at += part;
	}
	free(chunk);
	return r < 0 ? r : r || l->begin > (uint32_t)l->f->start ? 0 : keep_line(l);
}

/* From the ends of lines that V8 has. */
static int use_ends(const struct v8_heap *h, const struct v8_array *ends, struct lines *l)
{
	uint64_t *chunk = malloc(CHUNK);
	int r = chunk ? 0 : -ENOMEM;

	for (uint32_t at = 0; at < ends->n && r == 0;) {
		uint32_t part = CHUNK / 8 < ends->n - at ? CHUNK / 8 : ends->n - at;

		r = v8_get(h, ends->at + at * 8ULL, chunk, part * 8ULL);
		for (uint32_t i = 0; i < part && r == 0; i++)
			r = next_line(l, (uint32_t)(chunk[i] >> 32) + 1);
		at += part;
	}
	free(chunk);
	return r < 0 ? r : 0;
}

int v8_get_lines(const struct v8_heap *h, const struct v8_function *f, struct lang_function *out)
{
	struct lines l = { .f = f };
	struct v8_array ends = { 0 };
	struct v8_text text;
	uint64_t object;
	int32_t offset = 0;
	int r;

	if (!f->script || !f->positioned)
		return 0;
	r = v8_get_object(h, f->script + (uint64_t)h->vm->f.script_line_ends, &object);
	if (r == 0)
		r = v8_get_array(h, object, &ends);
	if (r == 0 && ends.n) {
		r = use_ends(h, &ends, &l);
	} else {
		r = v8_get_object(h, f->script + (uint64_t)h->vm->f.script_source, &object);
		if (r == 0)
			r = v8_get_text(h, object, &text);
		if (r == 0)
			r = search_text(h, &text, &l);
	}
	if (r < 0 || !l.n) {
		free(l.begins);
		return r == -ENOMEM ? r : 0; /* it has a name all the same */
	}
	if (v8_get_smi(h, f->script + SCRIPT_LINE_OFFSET, &offset) < 0 || offset < 0)
		offset = 0;
	out->first_line = l.line + 1 + (uint32_t)offset;
	out->lines = (uint8_t *)l.begins;
	out->n_lines = l.n * (uint32_t)sizeof(*l.begins);
	return 0;
}

/* The number of the last line that begins up to @place, from 0. */
static uint32_t line_of(const struct lang_function *f, uint32_t place)
{
	uint32_t lo = 0, hi = f->n_lines / (uint32_t)sizeof(uint32_t), begin;

	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		memcpy(&begin, f->lines + mid * sizeof(begin), sizeof(begin));
		if (begin <= place)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

uint32_t v8_line(const struct lang_function *f, uint32_t place)
{
	if (place == V8_POSITION_NONE || f->n_lines < sizeof(uint32_t))
		return 0;
	return f->first_line + line_of(f, place);
}
