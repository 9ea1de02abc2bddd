/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Different samples may come out as the same text (their labels, addresses or
 * lines differ), so each sample's text is interned and counted before any
 * line is written. Names cannot hold what separates: `;` becomes `:`, control
 * characters become spaces.
 */
#include "codec/folded_write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/name.h"
#include "profile/profile.h"

struct folded {
	const struct profile *p;
	struct folded_options opt;
	struct buf line;
	struct strtab *texts;
	struct {
		VEC(int64_t);
	} counts; /* by id of the text */
};

struct folded_line {
	const char *text;
	int64_t count;
};

static void folded_fini(struct folded *f)
{
	buf_fini(&f->line);
	strtab_free(f->texts);
	vec_fini(&f->counts);
}

/* Make what was put after @from one frame. */
static void escape_from(struct buf *b, size_t from)
{
	for (size_t i = from; i < b->len; i++) {
		if (b->data[i] == ';')
			b->data[i] = ':';
		else if (b->data[i] < ' ')
			b->data[i] = ' ';
	}
}

static void put_frame(struct folded *f, const struct profile_location *l, uint32_t i)
{
	size_t from;

	if (f->line.len)
		buf_put_byte(&f->line, ';');
	from = f->line.len;
	profile_put_frame_name(f->p, l, i, &f->line);
	escape_from(&f->line, from);
	if (l->kind == PROFILE_FRAME_KERNEL)
		buf_put_str(&f->line, "_[k]");
	else if (profile_frame_inlined(l, i))
		buf_put_str(&f->line, "_[i]");
}

static void put_label(struct folded *f, const struct profile_sample *s)
{
	for (uint32_t i = 0; i < s->n_labels; i++) {
		if (!strcmp(profile_string(f->p, s->labels[i].key), f->opt.root_label)) {
			buf_put_str(&f->line, profile_string(f->p, s->labels[i].str));
			escape_from(&f->line, 0);
			return;
		}
	}
}

static void put_stack(struct folded *f, const struct profile_sample *s)
{
	size_t depth;
	const uint32_t *stack = profile_stack(f->p, s->stack, &depth);

	for (size_t k = depth; k-- > 0;) {
		struct profile_location l = profile_location(f->p, stack[k]);

		for (uint32_t i = profile_n_frames(&l); i-- > 0;)
			put_frame(f, &l, i);
	}
}

static int count_sample(struct folded *f, const struct profile_sample *s)
{
	uint32_t id;
	int r;

	f->line.len = 0;
	if (f->opt.root_label)
		put_label(f, s);
	put_stack(f, s);
	if (buf_error(&f->line))
		return -ENOMEM;
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

/* Lines without frames or with nothing counted say nothing. */
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

int folded_write(const struct profile *p, const struct folded_options *opt, struct buf *out,
		 struct err *err)
{
	_cleanup_(folded_fini) struct folded f = { .p = p };
	int r;

	if (opt)
		f.opt = *opt;
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
	return r < 0 ? err_set(err, r, "no memory to write the profile") : 0;
}
