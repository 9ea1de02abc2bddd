/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows the lines of a file that have a value with some lines around them, and "..." where lines
 * are omitted.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "cli/annotate_view.h"
#include "cli/source_text.h"
#include "cli/text.h"
#include "profile/profile.h"

/* The rows of one file, [i, end), while they are printed. */
struct file_rows {
	struct annotate_view *v;
	const struct source_text *text; /* NULL: the source could not be read */
	size_t i, end;
	uint32_t shown; /* the last line that was printed; 0: none */
};

/* ---- the head of a file ------------------------------------------------------------------ */

static void put_note(struct annotate_view *v, const char *note)
{
	buf_put_str(&v->out, "note: ");
	text_put_safe(&v->out, note);
	buf_put_byte(&v->out, '\n');
}

static void put_state(const struct file_rows *f, uint32_t last)
{
	switch (source_text_state(f->text)) {
	case SOURCE_CHANGED:
		put_note(f->v, "this source is not the one that was compiled: its MD5 is "
			       "another");
		break;
	case SOURCE_NEWER:
		put_note(f->v, "this source is newer than the recording, so lines may have moved");
		break;
	case SOURCE_SAME:
	case SOURCE_UNKNOWN:
		break;
	}
	if (last > source_text_n_lines(f->text))
		put_note(f->v, "this source has fewer lines than the one that was compiled");
}

/* Opens the source, and notes every reason to doubt it. */
static struct source_text *open_source(struct file_rows *f, uint32_t file, uint32_t last)
{
	const struct profile_meta *meta = profile_meta_const(f->v->p);
	const struct source_query q = {
		.path = profile_string(f->v->p, file),
		.maps = f->v->source_maps,
		.md5 = f->v->strings[file].has_md5 ? f->v->strings[file].md5 : NULL,
		.recorded_ns = meta->time_ns ? meta->time_ns + meta->duration_ns : 0,
	};
	struct source_text *text = NULL;
	struct err why = { 0 };

	if (!*q.path) {
		put_note(f->v, "the profile has no source file for this function: its executable "
			       "has no debug information");
		return NULL;
	}
	if (source_text_open(&text, &q, &why) < 0) {
		buf_put_str(&f->v->out, "note: cannot read this source: ");
		text_put_safe(&f->v->out, why.msg);
		buf_put_str(&f->v->out, "; --source-map names another directory\n");
		return NULL;
	}
	f->text = text;
	put_state(f, last);
	return text;
}

/* ---- lines ------------------------------------------------------------------------------- */

static void put_line(struct file_rows *f, uint32_t line, int64_t self, int64_t total)
{
	if (f->shown && line > f->shown + 1)
		buf_put_str(&f->v->out, "...\n");
	f->shown = line;
	annotate_put_numbers(f->v, self, total);
	if (line)
		buf_printf(&f->v->out, " %6u  ", line);
	else
		buf_put_str(&f->v->out, "      ?  ");
	if (f->text)
		source_text_put_line(f->text, line, &f->v->out);
	while (f->v->out.len && f->v->out.data[f->v->out.len - 1] == ' ')
		f->v->out.len--;
	buf_put_byte(&f->v->out, '\n');
}

/* Lines without a value, from @first to @last, if they exist and were not printed yet. */
static void put_context(struct file_rows *f, uint32_t first, uint32_t last)
{
	uint32_t n = f->text ? source_text_n_lines(f->text) : 0;

	if (first <= f->shown)
		first = f->shown + 1;
	for (uint32_t line = first; line <= last && line <= n; line++)
		put_line(f, line, 0, 0);
}

static void put_inlined(struct annotate_view *v, const struct function_line *row)
{
	const struct profile_function *fn = profile_function(v->p, row->inlined);

	annotate_put_numbers(v, row->self, row->total);
	buf_put_str(&v->out, "         | inlined ");
	text_put_safe(&v->out, profile_string(v->p, fn->name));
	buf_put_byte(&v->out, ' ');
	text_put_safe(&v->out, text_base_name(profile_string(v->p, fn->file)));
	buf_printf(&v->out, ":%u\n", row->inlined_line);
}

static void put_rows(struct file_rows *f)
{
	uint32_t around = (uint32_t)f->v->context;

	while (f->i < f->end) {
		const struct function_line *row = function_lines_at(f->v->lines, f->i);
		uint32_t line = row->line;

		put_context(f, line > around ? line - around : 1, line ? line - 1 : 0);
		put_line(f, line, row->self, row->total);
		for (f->i++; f->i < f->end; f->i++) {
			row = function_lines_at(f->v->lines, f->i);
			if (row->inlined == PROFILE_NONE)
				break;
			if (row->total)
				put_inlined(f->v, row);
		}
		put_context(f, line + 1,
			    f->i < f->end && row->line <= line + around ? row->line - 1
									: line + around);
	}
}

static void put_file(struct annotate_view *v, size_t i, size_t end)
{
	const struct function_line *first = function_lines_at(v->lines, i);
	struct file_rows f = { .v = v, .i = i, .end = end };
	_cleanup_(source_text_freep) struct source_text *text = NULL;
	const char *path = profile_string(v->p, first->file);
	uint32_t start;

	buf_put_byte(&v->out, '\n');
	text_put_safe(&v->out, *path ? path : "[unknown file]");
	buf_put_byte(&v->out, '\n');
	text = open_source(&f, first->file, function_lines_at(v->lines, end - 1)->line);
	annotate_put_columns(v, "    line");
	start = v->strings[first->file].first_line;
	if (start && start < first->line)
		put_context(&f, start, start);
	put_rows(&f);
}

int annotate_put_source(struct annotate_view *v)
{
	size_t n = function_lines_count(v->lines), end;

	for (size_t i = 0; i < n; i = end) {
		uint32_t file = function_lines_at(v->lines, i)->file;

		for (end = i + 1; end < n; end++)
			if (function_lines_at(v->lines, end)->file != file)
				break;
		put_file(v, i, end);
	}
	return 0;
}
