/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"

static int cmp_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Appends @n texts to the result in sorted order and frees them. */
static void put_sorted(struct buf *b, char **texts, size_t n, const char *after)
{
	qsort(texts, n, sizeof(*texts), cmp_text);
	for (size_t i = 0; i < n; i++) {
		buf_printf(b, "%s%s", texts[i], after);
		free(texts[i]);
	}
	free(texts);
}

static void put_location(struct buf *b, const struct profile *p, uint32_t id, unsigned int flags)
{
	struct profile_location l = profile_location(p, id);

	buf_printf(b, "  0x%" PRIx64, l.address);
	if (flags & FIXTURE_DUMP_KINDS)
		buf_printf(b, " %s", profile_frame_kind_label(l.kind));
	if (l.mapping != PROFILE_NONE) {
		const struct profile_mapping *m = profile_mapping(p, l.mapping);

		buf_printf(b, " in %s %s %" PRIx64 "-%" PRIx64 "+%" PRIx64,
			   profile_string(p, m->file), profile_string(p, m->build_id), m->start,
			   m->limit, m->file_off);
		if (!(flags & FIXTURE_DUMP_NO_FLAGS))
			buf_printf(b, " %d%d%d%d", m->has_functions, m->has_filenames, m->has_lines,
				   m->has_inlines);
	}
	for (uint32_t i = 0; i < l.n_lines; i++) {
		const struct profile_function *f = profile_function(p, l.lines[i].function);

		buf_printf(b, " | %s (%s) %s:%u @%u:%u", profile_string(p, f->name),
			   profile_string(p, f->system_name), profile_string(p, f->file),
			   f->start_line, l.lines[i].line, l.lines[i].column);
	}
	buf_put_byte(b, '\n');
}

static void put_labels(struct buf *b, const struct profile *p, const struct profile_sample *s)
{
	char **texts = calloc(s->n_labels + 1, sizeof(*texts));

	for (uint32_t i = 0; i < s->n_labels; i++) {
		const struct profile_label *l = &s->labels[i];

		assert_true(asprintf(&texts[i], " %s=%s/%" PRId64 "%s", profile_string(p, l->key),
				     profile_string(p, l->str), l->num,
				     profile_string(p, l->num_unit)) > 0);
	}
	put_sorted(b, texts, s->n_labels, "");
}

static char *sample_text(const struct profile *p, uint32_t i, unsigned int flags)
{
	struct profile_sample s = profile_sample(p, i);
	struct buf b = { 0 };
	const uint32_t *stack;
	size_t depth;

	for (size_t k = 0; k < profile_n_sample_types(p); k++)
		buf_printf(&b, " %" PRId64, s.values[k]);
	put_labels(&b, p, &s);
	for (uint32_t k = 0; flags & FIXTURE_DUMP_TIMES && k < s.n_times; k++)
		buf_printf(&b, " t%" PRIu64, s.times[k]);
	buf_put_byte(&b, '\n');
	stack = profile_stack(p, s.stack, &depth);
	for (size_t k = 0; k < depth; k++)
		put_location(&b, p, stack[k], flags);
	buf_put_byte(&b, 0);
	return (char *)b.data;
}

static void put_meta(struct buf *b, const struct profile *p)
{
	const struct profile_meta *m = profile_meta_const(p);

	for (size_t i = 0; i < profile_n_sample_types(p); i++) {
		struct profile_value_type t = profile_sample_type(p, i);

		buf_printf(b, "type %s/%s\n", profile_string(p, t.type), profile_string(p, t.unit));
	}
	for (size_t i = 0; i < profile_n_comments(p); i++)
		buf_printf(b, "comment %s\n", profile_string(p, profile_comment(p, i)));
	buf_printf(b, "time %" PRId64 "+%" PRId64 " every %" PRId64 " %s/%s %s %s %s %s\n",
		   m->time_ns, m->duration_ns, m->period, profile_string(p, m->period_type.type),
		   profile_string(p, m->period_type.unit),
		   profile_string(p, m->default_sample_type), profile_string(p, m->doc_url),
		   profile_string(p, m->drop_frames), profile_string(p, m->keep_frames));
}

char *fixture_dump(const struct profile *p, unsigned int flags)
{
	struct buf b = { 0 };
	uint32_t n = profile_n_samples(p);
	char **texts = calloc((size_t)n + 1, sizeof(*texts));

	put_meta(&b, p);
	for (uint32_t i = 0; i < n; i++)
		texts[i] = sample_text(p, i, flags);
	put_sorted(&b, texts, n, "");
	buf_put_byte(&b, 0);
	assert_int_equal(buf_error(&b), 0);
	return (char *)b.data;
}
