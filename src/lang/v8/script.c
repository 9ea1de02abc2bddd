/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what only the source text of a script contains: where its lines start, in characters,
 * and the classes of its methods. V8 computes the line ends of a script when it first
 * needs them; if it has not done so, the text is searched. Both results are stored in the memo of
 * the process for other functions of the same script. A function's lines are the line starts
 * that it covers, beginning with that of its first line.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "lang/memo.h"
#include "lang/v8/classes.h"
#include "lang/v8/heap.h"

enum {
	SOURCE_MAX = 1 << 23, /* in characters */
	SCRIPT_LINE_OFFSET = 24,
	SCRIPT_COLUMN_OFFSET = 32, /* column offset of the first line, as of a script within HTML */
	SCRIPT_ID = 64,
	LINE_SEPARATOR = 0x2028, /* the next character is the paragraph separator */
	CLASS_NAME_MAX = 200,
};

/* A script, and the data computed from all of its text. */
struct script {
	const struct v8_heap *h;
	uint64_t at;
	struct v8_text text;
	struct lang_memo_key key;
	void *owned; /* data that the memo cannot store */
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
	free(s->owned);
}

/* Reads the characters of the text. The caller frees *@out. */
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

/*
 * Stores data computed from the whole script: in the memo, or in s->owned. Takes ownership of
 * @data. Returns the stored data, or NULL.
 */
static const void *script_store(struct script *s, void *data, size_t len)
{
	if (!s->h->p->memo || len > LANG_MEMO_BYTES) {
		free(s->owned);
		return s->owned = data;
	}
	lang_memo_put(s->h->p->memo, &s->key, data, len);
	return lang_memo_get(s->h->p->memo, &s->key, &len);
}

/* ---- lines ------------------------------------------------------------------------ */

struct line_starts {
	uint32_t *data;
	size_t n, cap;
};

static int add_start(struct line_starts *b, uint32_t at)
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

static int search_text(const struct v8_text *t, const uint8_t *text, struct line_starts *out)
{
	uint32_t previous = 0;
	int r = add_start(out, 0);

	for (uint32_t i = 0; i < t->n && r == 0; i++) {
		uint16_t wide;
		uint32_t c = text[i];

		if (t->width == 2) {
			memcpy(&wide, text + 2ULL * i, sizeof(wide));
			c = wide;
		}
		/* A carriage return ends a line unless a line feed follows. */
		if (previous == '\r' && c != '\n')
			r = add_start(out, i);
		if (r == 0 && (c == '\n' || c == LINE_SEPARATOR || c == LINE_SEPARATOR + 1))
			r = add_start(out, i + 1);
		previous = c;
	}
	return r;
}

/* Uses the line ends that V8 has computed. Returns -ENOENT if it has not. */
static int use_line_ends(const struct script *s, struct line_starts *out)
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
		r = add_start(out, 0);
	for (uint32_t i = 0; i < ends.n && r == 0; i++)
		r = add_start(out, (uint32_t)(words[i] >> 32) + 1);
	free(words);
	return r;
}

static int find_lines(struct script *s, const uint32_t **out, size_t *out_n)
{
	struct line_starts b = { 0 };
	uint8_t *text;
	size_t len = 0;
	int r;

	s->key.what = V8_MEMO_LINES;
	*out = lang_memo_get(s->h->p->memo, &s->key, &len);
	*out_n = len / sizeof(**out);
	if (*out)
		return 0;
	r = use_line_ends(s, &b);
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
	*out = script_store(s, b.data, b.n * sizeof(*b.data));
	return *out ? 0 : -ENOMEM;
}

/* Returns the index of the last line that starts at or before @place. */
static uint32_t line_of(const uint32_t *line_starts, size_t n, uint32_t place)
{
	size_t starts = bisect(n, i, line_starts[i] <= place);

	return starts ? (uint32_t)starts - 1 : 0;
}

static int copy_lines(const struct script *s, const struct v8_function *f,
		      const uint32_t *line_starts, size_t n, struct lang_function *out)
{
	uint32_t first = line_of(line_starts, n, (uint32_t)f->start);
	uint32_t lines = line_of(line_starts, n, (uint32_t)f->end) - first + 1;
	int32_t offset = 0;

	if (lines > LANG_LINES_MAX / sizeof(*line_starts))
		lines = LANG_LINES_MAX / sizeof(*line_starts);
	out->lines = malloc(lines * sizeof(*line_starts));
	if (!out->lines)
		return -ENOMEM;
	memcpy(out->lines, line_starts + first, lines * sizeof(*line_starts));
	out->n_lines = lines * (uint32_t)sizeof(*line_starts);
	if (v8_get_smi(s->h, s->at + SCRIPT_LINE_OFFSET, &offset) < 0 || offset < 0)
		offset = 0;
	out->first_line = first + 1 + (uint32_t)offset;
	if (!first && v8_get_smi(s->h, s->at + SCRIPT_COLUMN_OFFSET, &offset) == 0 && offset > 0)
		((uint32_t *)(void *)out->lines)[0] -= (uint32_t)offset;
	return 0;
}

int v8_get_lines(const struct v8_heap *h, const struct v8_function *f, struct lang_function *out)
{
	const uint32_t *line_starts;
	struct script s;
	size_t n;
	int r;

	if (!f->script || !f->positioned)
		return 0;
	r = script_open(&s, h, f->script);
	if (r == 0)
		r = find_lines(&s, &line_starts, &n);
	if (r == 0)
		r = copy_lines(&s, f, line_starts, n, out);
	script_close(&s);
	return r == -ENOMEM ? r : 0; /* The function has a name even without its lines. */
}

uint32_t v8_line(const struct lang_function *f, uint32_t place)
{
	size_t n = f->n_lines / sizeof(uint32_t);

	/* The lines are aligned, because they come from malloc() or a vector. */
	if (place == V8_POSITION_NONE || !n)
		return 0;
	return f->first_line + line_of((const uint32_t *)(const void *)f->lines, n, place);
}

uint32_t v8_column(const struct lang_function *f, uint32_t place)
{
	const uint32_t *line_starts = (const uint32_t *)(const void *)f->lines;
	size_t n = f->n_lines / sizeof(*line_starts);

	if (place == V8_POSITION_NONE || !n)
		return 0;
	/* The first start is negative if the script does not start at the beginning of its line. */
	return place - line_starts[line_of(line_starts, n, place)] + 1;
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
	/* An empty result is stored as well, so that the text is not searched again. */
	if (!methods)
		methods = malloc(sizeof(*methods));
	*out = methods ? script_store(s, methods, *out_n * sizeof(*methods)) : NULL;
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
