/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples that differ in labels, addresses or lines may give the same text, so the text of each
 * sample is interned and its values are summed before any line is written. The output is UTF-8
 * without control characters, and `;` in a name, which would separate frames, becomes `:`; a mark
 * at the end of a name, `_[k]`, becomes `_(k]`.
 *
 * Sorting makes the output of equal profiles equal, which diff tools and tests rely on. Marks are
 * those of flamegraph.pl's --colors=java; no mark exists for other kinds.
 */
#include "codec/text/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/strtab.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "codec/common/format_codec.h"
#include "profile/frame_name.h"
#include "profile/profile.h"

enum { MARK_LEN = 4 };

struct folded {
	const struct profile *p;
	struct format_options opt;
	struct buf line; /* of the current sample */
	struct buf name; /* of the current frame */
	struct strtab *texts;
	struct {
		VEC(int64_t);
	} counts; /* sums, by id of the text */
};

struct folded_line {
	const char *text;
	int64_t count;
};

static void folded_fini(struct folded *f)
{
	buf_fini(&f->line);
	buf_fini(&f->name);
	strtab_free(f->texts);
	vec_fini(&f->counts);
}

static bool ends_with_mark(const struct buf *line, size_t start)
{
	const uint8_t *mark;

	if (line->len - start <= MARK_LEN)
		return false;
	mark = line->data + line->len - MARK_LEN;
	return !memcmp(mark, "_[", 2) && mark[3] == ']' && memchr("kij", mark[2], 3);
}

/* Appends a name without the separator of frames, and without a mark (`_[k]`) at its end. */
static void put_name(struct buf *line, const char *name, size_t len)
{
	size_t start = line->len;

	utf8_put_line(line, name, len);
	for (size_t i = start; i < line->len; i++)
		if (line->data[i] == ';')
			line->data[i] = ':';
	if (ends_with_mark(line, start))
		line->data[line->len - MARK_LEN + 1] = '(';
}

static void put_frame(struct folded *f, const struct profile_location *l, uint32_t i)
{
	if (f->line.len)
		buf_put_byte(&f->line, ';');
	f->name.len = 0;
	profile_put_frame_name(f->p, l, i, &f->name);
	put_name(&f->line, (const char *)f->name.data, f->name.len);
	if (l->kind == PROFILE_FRAME_KERNEL)
		buf_put_str(&f->line, "_[k]");
	else if (profile_frame_inlined(l, i))
		buf_put_str(&f->line, "_[i]");
}

static void put_label(struct folded *f, const struct profile_sample *s)
{
	for (uint32_t i = 0; i < s->n_labels; i++) {
		if (!strcmp(profile_string(f->p, s->labels[i].key), f->opt.root_label)) {
			put_name(&f->line, profile_string(f->p, s->labels[i].str),
				 profile_string_len(f->p, s->labels[i].str));
			return;
		}
	}
}

static void put_stack(struct folded *f, const struct profile_sample *s)
{
	size_t depth;
	const uint32_t *stack = profile_stack(f->p, s->stack, &depth);

	for (size_t k = depth; k-- > 0 && !buf_error(&f->line);) {
		struct profile_location l = profile_location(f->p, stack[k]);

		for (uint32_t i = profile_location_n_frames(&l); i-- > 0 && !buf_error(&f->line);)
			put_frame(f, &l, i);
	}
}

/* Sums that overflow become INT64_MAX. */
static int count_sample(struct folded *f, const struct profile_sample *s)
{
	uint32_t id;
	int r;

	f->line.len = 0;
	if (f->opt.root_label)
		put_label(f, s);
	put_stack(f, s);
	r = buf_error(&f->name) ? -ENOMEM : buf_error(&f->line);
	if (r == 0 && strtab_bytes(f->texts) > f->opt.max_bytes)
		r = -EFBIG;
	if (r == 0)
		r = strtab_add(f->texts, (const char *)f->line.data, f->line.len, &id);
	if (r < 0)
		return r;
	while (f->counts.len <= id) {
		r = vec_push(&f->counts, 0);
		if (r < 0)
			return r;
	}
	if (__builtin_add_overflow(f->counts.data[id], s->values[f->opt.value_num],
				   &f->counts.data[id]))
		f->counts.data[id] = INT64_MAX;
	return 0;
}

static int cmp_line(const void *a, const void *b)
{
	return strcmp(((const struct folded_line *)a)->text, ((const struct folded_line *)b)->text);
}

/* Omits the empty stack, which is text 0, and stacks with a sum of 0. */
static int write_lines(struct folded *f, struct buf *out)
{
	_cleanup_(freep) struct folded_line *lines = calloc(f->counts.len + 1, sizeof(*lines));
	size_t n = 0;

	if (!lines)
		return -ENOMEM;
	for (uint32_t id = 1; id < f->counts.len; id++)
		if (f->counts.data[id])
			lines[n++] = (struct folded_line){ strtab_get(f->texts, id),
							   f->counts.data[id] };
	qsort(lines, n, sizeof(*lines), cmp_line);
	for (size_t i = 0; i < n; i++)
		buf_printf(out, "%s %" PRId64 "\n", lines[i].text, lines[i].count);
	return buf_error(out);
}

int folded_write(const struct profile *p, const struct format_options *opt, struct buf *out,
		 struct err *err)
{
	_cleanup_(folded_fini) struct folded f = { .p = p };
	int r;

	if (opt)
		f.opt = *opt;
	if (!f.opt.max_bytes)
		f.opt.max_bytes = FORMAT_OUTPUT_MAX;
	f.line.max = f.opt.max_bytes;
	if (f.opt.value_num >= profile_n_sample_types(p))
		return err_set(err, -EINVAL, "the profile has no sample type %zu",
			       f.opt.value_num + 1);
	r = strtab_new(&f.texts);
	for (uint32_t i = 0; r == 0 && i < profile_n_samples(p); i++) {
		struct profile_sample s = profile_sample(p, i);

		r = count_sample(&f, &s);
	}
	if (r == 0)
		r = write_lines(&f, out);
	return r < 0 ? err_set(err, r, "out of memory while writing the profile") : 0;
}

/*
 * Returns whether the first line looks like "frame;frame 17". A line without frames, " 5", counts:
 * py-spy writes one for samples of a thread that had no Python frames.
 */
static enum format_match detect_folded(const void *data, size_t len)
{
	const uint8_t *line = data, *newline = memchr(line, '\n', len);
	size_t n = newline ? (size_t)(newline - line) : len;

	if (n && line[n - 1] == '\r')
		n--;
	for (size_t i = 0; i < n; i++)
		if (line[i] < ' ' && line[i] != '\t')
			return FORMAT_MATCH_NONE;
	if (n >= 2 && line[n - 1] >= '0' && line[n - 1] <= '9' && memrchr(line, ' ', n))
		return FORMAT_MATCH_POSSIBLE;
	return FORMAT_MATCH_NONE;
}

/*
 * Folded stacks are only a possible match: many text files end their first line with a number.
 * Austin's header is certain and wins.
 */
const struct format_codec folded_codec = {
	.detect = detect_folded,
	.read = folded_read,
	.write = folded_write,
	.features = FORMAT_INLINED,
};
