/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the call tree for the page as columns: strings, frames that refer to them, and nodes that
 * refer to frames. Only frames that a node uses are written, numbered in the order of their first
 * use. ui/src has the reader.
 */
#include "codec/page/page_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "base/strtab.h"
#include "profile/profile.h"
#include "profile/tree.h"

/* The string indices of a frame. */
struct row {
	uint32_t name, file, kind, binary;
};

struct writer {
	const struct page_tree *t;
	struct json *j;
	struct strtab *strings;
	uint32_t *ids;  /* by frame: its index in the JSON; PAGE_NONE: not used */
	uint32_t *used; /* frames by that index */
	size_t n_used;
	struct row *rows; /* by that index */
};

static void writer_fini(struct writer *w)
{
	strtab_free(w->strings);
	free(w->ids);
	free(w->used);
	free(w->rows);
}

void page_tree_fini(struct page_tree *t)
{
	vec_fini(&t->frames);
	vec_fini(&t->nodes);
	page_times_fini(&t->times);
}

/* Numbers the frames that nodes refer to. */
static int find_used(struct writer *w)
{
	size_t n = w->t->frames.len;

	w->ids = malloc((n + 1) * sizeof(*w->ids));
	w->used = malloc((n + 1) * sizeof(*w->used));
	w->rows = malloc((n + 1) * sizeof(*w->rows));
	if (!w->ids || !w->used || !w->rows)
		return -ENOMEM;
	memset(w->ids, 0xff, n * sizeof(*w->ids));
	for (size_t i = 0; i < w->t->nodes.len; i++) {
		uint32_t frame = w->t->nodes.data[i].frame;

		if (frame == PAGE_NONE || w->ids[frame] != PAGE_NONE)
			continue;
		w->ids[frame] = (uint32_t)w->n_used;
		w->used[w->n_used++] = frame;
	}
	return 0;
}

static int add_text(struct writer *w, const char *text, uint32_t *out)
{
	return strtab_add(w->strings, text, strlen(text), out);
}

/*
 * Interning makes equal texts of different frames one string; most binaries and files occur in many
 * frames.
 */
static int add_texts(struct writer *w)
{
	int r = strtab_new(&w->strings);

	for (size_t i = 0; r == 0 && i < w->n_used; i++) {
		const struct page_frame *f = &w->t->frames.data[w->used[i]];

		r = add_text(w, f->name, &w->rows[i].name);
		if (r == 0)
			r = add_text(w, f->file, &w->rows[i].file);
		if (r == 0)
			r = add_text(w, f->kind, &w->rows[i].kind);
		if (r == 0)
			r = add_text(w, f->binary, &w->rows[i].binary);
	}
	return r;
}

static void put_head(struct json *j, const struct page_tree *t)
{
	json_member_uint(j, "version", 1);
	json_member_str(j, "unit", t->unit);
	json_member_str(j, "type", t->type);
	json_member_int(j, "period_ns", t->period_ns);
	json_member_int(j, "time_ns", t->time_ns);
	json_member_int(j, "duration_ns", t->duration_ns);
	json_member_str(j, "title", t->title ? t->title : "");
	json_member_int(j, "total", t->total);
}

static void put_strings(struct writer *w)
{
	json_member_array(w->j, "strings");
	for (uint32_t i = 0; i < strtab_count(w->strings); i++)
		json_strn(w->j, strtab_get(w->strings, i), strtab_len(w->strings, i));
	json_array_end(w->j);
}

static void put_frames(struct writer *w)
{
	struct json *j = w->j;

	json_member_array(j, "frames");
	for (size_t i = 0; i < w->n_used; i++) {
		json_array(j);
		json_uint(j, w->rows[i].name);
		json_uint(j, w->rows[i].file);
		json_uint(j, w->t->frames.data[w->used[i]].line);
		json_uint(j, w->rows[i].kind);
		json_uint(j, w->rows[i].binary);
		if (w->t->frames.data[w->used[i]].inlined)
			json_uint(j, 1);
		json_array_end(j);
	}
	json_array_end(j);
}

static void put_id(struct json *j, uint32_t id)
{
	json_int(j, id == PAGE_NONE ? -1 : (int64_t)id);
}

/* Writes the nodes as columns of parents, frames and self values. */
static void put_nodes(struct writer *w)
{
	const struct page_node *nodes = w->t->nodes.data;
	size_t n = w->t->nodes.len;
	struct json *j = w->j;

	json_member_object(j, "nodes");
	json_member_array(j, "parent");
	for (size_t i = 0; i < n; i++)
		put_id(j, nodes[i].parent);
	json_array_end(j);
	json_member_array(j, "frame");
	for (size_t i = 0; i < n; i++)
		put_id(j, nodes[i].frame == PAGE_NONE ? PAGE_NONE : w->ids[nodes[i].frame]);
	json_array_end(j);
	json_member_array(j, "self");
	for (size_t i = 0; i < n; i++)
		json_int(j, nodes[i].self);
	json_array_end(j);
	json_object_end(j);
}

int page_tree_write(struct page_tree *t, struct json *j)
{
	_cleanup_(writer_fini) struct writer w = { .t = t, .j = j };
	int r = find_used(&w);

	if (r == 0)
		r = add_texts(&w);
	if (r < 0)
		return r;
	json_object(j);
	put_head(j, t);
	put_strings(&w);
	put_frames(&w);
	put_nodes(&w);
	page_times_write(&t->times, j);
	json_object_end(j);
	return buf_error(j->out);
}

/* Strings stay in @t, which must outlive @out. */
static int copy_tree(struct page_tree *out, const struct tree *t)
{
	int r = vec_reserve(&out->frames, tree_n_frames(t) + 1);

	if (r == 0)
		r = vec_reserve(&out->nodes, tree_n_nodes(t));
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < tree_n_frames(t); i++) {
		const struct tree_frame *f = tree_frame(t, i);

		out->frames.data[out->frames.len++] = (struct page_frame){
			.name = tree_string(t, f->name),
			.file = tree_string(t, f->file),
			.binary = tree_string(t, f->binary),
			.kind = f->group ? PAGE_KIND_GROUP : profile_frame_kind_label(f->kind),
			.line = f->line,
			.inlined = f->inlined,
		};
	}
	for (uint32_t i = 0; i < tree_n_nodes(t); i++) {
		const struct tree_node *n = tree_node(t, i);

		out->nodes.data[out->nodes.len++] =
			(struct page_node){ n->parent, n->frame, n->self };
	}
	out->total = tree_node(t, 0)->total;
	return 0;
}

int page_json_write(const struct profile *p, const struct format_options *opt, struct buf *out,
		    struct err *err)
{
	static const struct format_options none;
	const struct profile_meta *m = profile_meta_const(p);
	_cleanup_(page_tree_fini) struct page_tree page = { 0 };
	_cleanup_(tree_freep) struct tree *t = NULL;
	struct tree_options tree_opt;
	struct json j = json_to(out);
	int r;

	opt = opt ? opt : &none;
	tree_opt = (struct tree_options){ opt->value_num, opt->root_label };
	r = tree_build(&t, p, &tree_opt);
	if (r == -EINVAL)
		return err_set(err, r, "the profile has no sample type %zu", opt->value_num + 1);
	if (r == 0)
		r = copy_tree(&page, t);
	if (r < 0)
		return err_set(err, r, "out of memory while writing the page");
	page.type = profile_string(p, profile_sample_type(p, opt->value_num).type);
	page.unit = profile_string(p, profile_sample_type(p, opt->value_num).unit);
	if (!strcmp(profile_string(p, m->period_type.unit), "nanoseconds"))
		page.period_ns = m->period;
	page.time_ns = m->time_ns;
	page.duration_ns = m->duration_ns;
	page.title = opt->title;
	r = page_times_collect(&page.times, p, t);
	if (r == 0)
		r = page_tree_write(&page, &j);
	return r < 0 ? err_set(err, r, "out of memory while writing the page") : 0;
}
