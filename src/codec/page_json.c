/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/page_json.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "profile/profile.h"
#include "profile/tree.h"

static void put_id(struct json *j, uint32_t id)
{
	json_int(j, id == TREE_NONE ? -1 : (int64_t)id);
}

static void put_meta(struct json *j, const struct profile *p, const struct page_options *opt,
		     int64_t total)
{
	const struct profile_meta *m = profile_meta_const(p);
	struct profile_value_type type = profile_sample_type(p, opt->value_num);
	bool in_ns = !strcmp(profile_string(p, m->period_type.unit), "nanoseconds");

	json_key(j, "version");
	json_uint(j, 1);
	json_key(j, "unit");
	json_str(j, profile_string(p, type.unit));
	json_key(j, "type");
	json_str(j, profile_string(p, type.type));
	json_key(j, "period_ns");
	json_int(j, in_ns ? m->period : 0);
	json_key(j, "time_ns");
	json_int(j, m->time_ns);
	json_key(j, "duration_ns");
	json_int(j, m->duration_ns);
	json_key(j, "title");
	json_str(j, opt->title ? opt->title : "");
	json_key(j, "total");
	json_int(j, total);
}

/* The tree's strings, and after them the labels of the kinds. */
static void put_strings(struct json *j, const struct tree *t)
{
	json_key(j, "strings");
	json_array(j);
	for (uint32_t i = 0; i < tree_n_strings(t); i++)
		json_strn(j, tree_string(t, i), tree_string_len(t, i));
	for (uint32_t kind = 0; kind < PROFILE_FRAME_MAX; kind++)
		json_str(j, profile_frame_kind_label(kind));
	json_array_end(j);
}

static void put_frames(struct json *j, const struct tree *t)
{
	json_key(j, "frames");
	json_array(j);
	for (uint32_t i = 0; i < tree_n_frames(t); i++) {
		const struct tree_frame *f = tree_frame(t, i);
		uint32_t kind = f->kind < PROFILE_FRAME_MAX ? f->kind : PROFILE_FRAME_UNKNOWN;

		json_array(j);
		json_uint(j, f->name);
		json_uint(j, f->file);
		json_uint(j, f->line);
		json_uint(j, tree_n_strings(t) + kind);
		json_uint(j, f->binary);
		if (f->inlined)
			json_uint(j, 1);
		json_array_end(j);
	}
	json_array_end(j);
}

static void put_nodes(struct json *j, const struct tree *t)
{
	uint32_t n = tree_n_nodes(t);

	json_key(j, "nodes");
	json_object(j);
	json_key(j, "parent");
	json_array(j);
	for (uint32_t i = 0; i < n; i++)
		put_id(j, tree_node(t, i)->parent);
	json_array_end(j);
	json_key(j, "frame");
	json_array(j);
	for (uint32_t i = 0; i < n; i++)
		put_id(j, tree_node(t, i)->frame);
	json_array_end(j);
	json_key(j, "self");
	json_array(j);
	for (uint32_t i = 0; i < n; i++)
		json_int(j, tree_node(t, i)->self);
	json_array_end(j);
	json_object_end(j);
}

int page_json_write(const struct profile *p, const struct page_options *opt, struct buf *out,
		    struct err *err)
{
	static const struct page_options none;
	_cleanup_(tree_freep) struct tree *t = NULL;
	struct tree_options tree_opt;
	struct json j = json_to(out);
	int r;

	opt = opt ? opt : &none;
	tree_opt = (struct tree_options){ opt->value_num, opt->root_label };
	r = tree_build(&t, p, &tree_opt);
	if (r == -EINVAL)
		return err_set(err, r, "the profile has no sample type %zu", opt->value_num + 1);
	if (r < 0)
		return err_set(err, r, "no memory to draw the profile");
	json_object(&j);
	put_meta(&j, p, opt, tree_node(t, 0)->total);
	put_strings(&j, t);
	put_frames(&j, t);
	put_nodes(&j, t);
	json_object_end(&j);
	return buf_error(out) ? err_set(err, -ENOMEM, "no memory to draw the profile") : 0;
}
