/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a script's text tells: where its lines begin, as characters of it, and which classes its
 * methods are of. V8 has the ends of a script's lines only once it wanted them; else the text is
 * searched. Both are kept for the script's next function. What is kept of a function is the
 * beginnings of its lines, the first of them where the line that it begins in does.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lang/memo.h"
#include "lang/v8/classes.h"
#include "lang/v8/heap.h"

enum {
	SOURCE_MAX = 1 << 23, /* characters */
	SCRIPT_LINE_OFFSET = 24,
	SCRIPT_COLUMN_OFFSET = 32, /* of its first line */
	SCRIPT_ID = 64,
	LINE_SEPARATOR = 0x2028, /* and the next one: of paragraphs */
	CLASS_NAME_MAX = 200,
};

/* A script, and what is made of all of it. */
struct script {
	const struct v8_heap *h;
	uint64_t at;
	struct v8_text text;
	struct lang_memo_key key;
	void *own; /* where nothing can be kept */
};

static int script_open(struct script *s, const struct v8_heap *h, uint64_t at)
{
	uint64_t source;
	int32_t id = 0;
	int r;

	*s = (struct script){ .h = h, .at = at };
	r = v8_get_object(h, at + (uint64_t)h->vm->f.script_source, &source);
	if (r == 0)
		r = v8_get_text(h, source, &s->text);
	if (r == 0 && s->text.n > SOURCE_MAX)
		r = -EFBIG;
	(void)v8_get_smi(h, at + SCRIPT_ID, &id);
	s->key = (struct lang_memo_key){ .start_ns = h->p->start_ns,
					 .addr = s->text.at,
					 .size = (uint64_t)(uint32_t)id << 32 | s->text.n,
					 .pid = h->p->pid };
	return r;
}

static void script_close(struct script *s)
{
	free(s->own);
}

/* The text's characters; to be freed. */
static int script_read(const struct script *s, uint8_t **out)
{
	size_t len = (size_t)s->text.n * s->text.width;
	uint8_t *text = malloc(len + 1);
	int r = text ? v8_get(s->h, s->text.at, text, len) : -ENOMEM;

	if (r < 0)
		free(text);
	else
		*out = text;
	return r;
}

/* Something made of the whole script: kept, or s->own. */
static const void *script_keep(struct script *s, void *data, size_t len)
{
	if (!s->h->p->memo || len > LANG_MEMO_BYTES) {
		free(s->own);
		return s->own = data;
	}
	lang_memo_put(s->h->p->memo, &s->key, data, len);
	return lang_memo_get(s->h->p->memo, &s->key, &len);
}

/* ---- lines ------------------------------------------------------------------------ */

struct begins {
	uint32_t *data;
	size_t n, cap;
};

static int add_begin(struct begins *b, uint32_t at)
{
	uint32_t *grown;

	if (b->n == b->cap) {
		b->cap = b->cap ? 2 * b->cap : 64;
		grown = reallocarray(b->data, b->cap, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		b->data = grown;
	}
	b->data[b->n++] = at;
	return 0;
}

static int search_text(const struct v8_text *t, const uint8_t *text, struct begins *out)
{
	uint32_t before = 0;
	int r = add_begin(out, 0);

	for (uint32_t i = 0; i < t->n && r == 0; i++) {
		uint16_t wide;
		uint32_t c = text[i];

		if (t->width == 2) {
			memcpy(&wide, text + 2ULL * i, sizeof(wide));
			c = wide;
		}
		/* a return ends its line unless a line feed does so behind it */
		if (before == '\r' && c != '\n')
			r = add_begin(out, i);
		if (r == 0 && (c == '\n' || c == LINE_SEPARATOR || c == LINE_SEPARATOR + 1))
			r = add_begin(out, i + 1);
		before = c;
	}
	return r;
}

/* From the ends of lines that V8 has; -ENOENT: it has none. */
static int use_ends(const struct script *s, struct begins *out)
{
	const struct v8_heap *h = s->h;
	struct v8_array ends = { 0 };
	uint64_t object, *words;
	int r = v8_get_object(h, s->at + (uint64_t)h->vm->f.script_line_ends, &object);

	if (r == 0)
		r = v8_get_array(h, object, &ends);
	if (r < 0 || !ends.n || ends.n > s->text.n + 1)
		return -ENOENT;
	words = calloc(ends.n, sizeof(*words));
	r = words ? v8_get(h, ends.at, words, ends.n * sizeof(*words)) : -ENOMEM;
	if (r == 0)
		r = add_begin(out, 0);
	for (uint32_t i = 0; i < ends.n && r == 0; i++)
		r = add_begin(out, (uint32_t)(words[i] >> 32) + 1);
	free(words);
	return r;
}

static int find_lines(struct script *s, const uint32_t **out, size_t *out_n)
{
	struct begins b = { 0 };
	uint8_t *text;
	size_t len = 0;
	int r;

	s->key.what = V8_MEMO_LINES;
	*out = lang_memo_get(s->h->p->memo, &s->key, &len);
	*out_n = len / sizeof(**out);
	if (*out)
		return 0;
	r = use_ends(s, &b);
	if (r == -ENOENT) {
		r = script_read(s, &text);
		if (r == 0) {
			r = search_text(&s->text, text, &b);
			free(text);
		}
	}
	if (r < 0) {
		free(b.data);
		return r;
	}
	*out_n = b.n;
	*out = script_keep(s, b.data, b.n * sizeof(*b.data));
	return *out ? 0 : -ENOMEM;
}

/* The number of the last line that begins up to @place, from 0. */
static uint32_t line_of(const uint32_t *begins, size_t n, uint32_t place)
{
	size_t lo = 0, hi = n;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (begins[mid] <= place)
			lo = mid;
		else
			hi = mid;
	}
	return (uint32_t)lo;
}

static int take_lines(const struct script *s, const struct v8_function *f, const uint32_t *begins,
		      size_t n, struct lang_function *out)
{
	uint32_t first = line_of(begins, n, (uint32_t)f->start);
	uint32_t lines = line_of(begins, n, (uint32_t)f->end) - first + 1;
	int32_t offset = 0;

	if (lines > LANG_LINES_MAX / sizeof(*begins))
		lines = LANG_LINES_MAX / sizeof(*begins);
	out->lines = malloc(lines * sizeof(*begins));
	if (!out->lines)
		return -ENOMEM;
	memcpy(out->lines, begins + first, lines * sizeof(*begins));
	out->n_lines = lines * (uint32_t)sizeof(*begins);
	if (v8_get_smi(s->h, s->at + SCRIPT_LINE_OFFSET, &offset) < 0 || offset < 0)
		offset = 0;
	out->first_line = first + 1 + (uint32_t)offset;
	if (!first && v8_get_smi(s->h, s->at + SCRIPT_COLUMN_OFFSET, &offset) == 0 && offset > 0)
		((uint32_t *)(void *)out->lines)[0] -= (uint32_t)offset;
	return 0;
}

int v8_get_lines(const struct v8_heap *h, const struct v8_function *f, struct lang_function *out)
{
	const uint32_t *begins;
	struct script s;
	size_t n;
	int r;

	if (!f->script || !f->positioned)
		return 0;
	r = script_open(&s, h, f->script);
	if (r == 0)
		r = find_lines(&s, &begins, &n);
	if (r == 0)
		r = take_lines(&s, f, begins, n, out);
	script_close(&s);
	return r == -ENOMEM ? r : 0; /* it has a name all the same */
}

uint32_t v8_line(const struct lang_function *f, uint32_t place)
{
	size_t n = f->n_lines / sizeof(uint32_t);

	/* vectors and malloc() align it */
	if (place == V8_POSITION_NONE || !n)
		return 0;
	return f->first_line + line_of((const uint32_t *)(const void *)f->lines, n, place);
}

uint32_t v8_column(const struct lang_function *f, uint32_t place)
{
	const uint32_t *begins = (const uint32_t *)(const void *)f->lines;
	size_t n = f->n_lines / sizeof(*begins);

	if (place == V8_POSITION_NONE || !n)
		return 0;
	/* the first may be below 0: what stands in front of the script in its line */
	return place - begins[line_of(begins, n, place)] + 1;
}

/* ---- classes ---------------------------------------------------------------------- */

static int find_methods(struct script *s, const struct v8_method **out, size_t *out_n)
{
	struct v8_method *methods = NULL;
	uint8_t *text;
	size_t len = 0;
	int r;

	s->key.what = V8_MEMO_METHODS;
	*out = lang_memo_get(s->h->p->memo, &s->key, &len);
	*out_n = *out ? len / sizeof(**out) : 0;
	if (*out)
		return 0;
	r = script_read(s, &text);
	if (r < 0)
		return r;
	r = v8_find_methods(text, s->text.n, s->text.width, &methods, out_n);
	free(text);
	if (r < 0)
		return r;
	/* nothing is an answer, too */
	if (!methods)
		methods = malloc(sizeof(*methods));
	*out = methods ? script_keep(s, methods, *out_n * sizeof(*methods)) : NULL;
	return *out ? 0 : -ENOMEM;
}

int v8_put_class(const struct v8_heap *h, const struct v8_function *f, struct buf *out)
{
	const struct v8_method *methods;
	struct v8_method method;
	struct v8_text name;
	struct script s;
	size_t n;
	int r;

	if (!f->script || !f->positioned)
		return 0;
	r = script_open(&s, h, f->script);
	if (r == 0)
		r = find_methods(&s, &methods, &n);
	if (r == 0 && v8_class_at(methods, n, (uint32_t)f->start, &method)) {
		name = (struct v8_text){ s.text.at + (uint64_t)method.class * s.text.width,
					 method.n_class, s.text.width };
		r = v8_put_text(h, &name, CLASS_NAME_MAX, out);
	}
	script_close(&s);
	return r == -ENOMEM ? r : 0;
}
