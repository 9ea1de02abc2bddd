/* SPDX-License-Identifier: Apache-2.0 */
#include "tasks/task_profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strtab.h"
#include "profile/profile.h"
#include "tasks/task_groups.h"

static int add_text(struct profile *p, const char *s, uint32_t *out)
{
	return profile_add_string(p, s, strlen(s), out);
}

static int add_frame(struct profile *p, const struct task_snapshot *s, const struct task_frame *f,
		     uint32_t *out)
{
	struct profile_function function = { 0 };
	struct profile_line line = { .line = f->line };
	struct profile_location location = {
		.mapping = PROFILE_NONE,
		.kind = f->kind,
		.n_lines = 1,
		.lines = &line,
	};
	int r = add_text(p, strtab_get(s->strings, f->function), &function.name);

	function.system_name = function.name;
	if (r == 0)
		r = add_text(p, strtab_get(s->strings, f->file), &function.file);
	if (r == 0)
		r = profile_add_function(p, &function, &line.function);
	return r < 0 ? r : profile_add_location(p, &location, out);
}

/* A task without a stack has a frame with the reason. */
static int add_missing(struct profile *p, uint32_t *out)
{
	struct profile_function function = { 0 };
	struct profile_line line = { 0 };
	const struct profile_location location = {
		.mapping = PROFILE_NONE,
		.kind = PROFILE_FRAME_ERROR,
		.n_lines = 1,
		.lines = &line,
	};
	int r = add_text(p, "[task changed while it was read]", &function.name);

	function.system_name = function.name;
	if (r == 0)
		r = profile_add_function(p, &function, &line.function);
	return r < 0 ? r : profile_add_location(p, &location, out);
}

static int add_stack(struct profile *p, const struct task_snapshot *s, uint32_t stack,
		     uint32_t *out)
{
	uint32_t locations[TASK_FRAMES_MAX];
	size_t n;
	const uint32_t *ids = seqtab_get(&s->stacks, stack, &n);
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = add_frame(p, s, task_snapshot_frame_get(s, ids[i]), &locations[i]);
	if (!n) {
		r = add_missing(p, &locations[0]);
		n = 1;
	}
	return r < 0 ? r : profile_add_stack(p, locations, n, out);
}

static int add_label(struct profile *p, const char *key, const char *value,
		     struct profile_label *out)
{
	int r = add_text(p, key, &out->key);

	return r < 0 ? r : add_text(p, value, &out->str);
}

static int add_group(struct profile *p, const struct task_snapshot *s, const struct task_group *g)
{
	struct profile_label labels[3] = { 0 };
	int64_t values[2] = { (int64_t)g->count, (int64_t)(g->total_ns * s->totals.one_in) };
	struct profile_sample sample = { .n_labels = 2, .labels = labels, .values = values };
	int r = add_stack(p, s, g->stack, &sample.stack);

	if (r == 0)
		r = add_label(p, "reason", task_group_reason(s, g), &labels[0]);
	if (r == 0)
		r = add_label(p, "state", task_state_name(g->state), &labels[1]);
	if (r == 0 && g->is_system)
		r = add_label(p, "system", "yes", &labels[sample.n_labels++]);
	return r < 0 ? r : profile_add_sample(p, &sample);
}

int task_profile_add(struct profile *p, const struct task_snapshot *s)
{
	struct task_groups groups = { 0 };
	int r = 0;

	if (!profile_n_sample_types(p)) {
		r = profile_add_sample_type(p, "tasks", "count");
		if (r == 0)
			r = profile_add_sample_type(p, "task_wait", "nanoseconds");
	}
	if (r == 0)
		r = task_groups_build(s, &groups);
	for (size_t i = 0; i < groups.len && r == 0; i++)
		r = add_group(p, s, &groups.data[i]);
	vec_fini(&groups);
	return r;
}
