/* SPDX-License-Identifier: Apache-2.0 */
#include "lang/tasks/task_snapshot.h"

#include <errno.h>
#include <string.h>

#include "base/strtab.h"

int task_snapshot_init(struct task_snapshot *s)
{
	uint32_t empty;
	int r;

	memset(s, 0, sizeof(*s));
	s->totals.one_in = 1;
	seqtab_init(&s->frames, sizeof(struct task_frame));
	seqtab_init(&s->stacks, sizeof(uint32_t));
	r = strtab_new(&s->strings);
	return r < 0 ? r : seqtab_add(&s->stacks, NULL, 0, &empty);
}

void task_snapshot_fini(struct task_snapshot *s)
{
	if (s->strings)
		strtab_free(s->strings);
	s->strings = NULL;
	seqtab_fini(&s->frames);
	seqtab_fini(&s->stacks);
	vec_fini(&s->tasks);
}

/*
 * Tasks are sampled by hashes, so the size of a sample varies; a part of @max is reserved for that.
 */
void task_totals_choose(struct task_totals *t, uint64_t n, uint32_t max)
{
	t->n_listed = n;
	if (n > max)
		max -= max / 64;
	t->one_in = (uint32_t)(n / (max ? max : 1) + (max && n % max != 0));
	t->one_in += !t->one_in;
}

int task_snapshot_string(struct task_snapshot *s, const char *text, size_t len, uint32_t *out)
{
	return strtab_add(s->strings, text, len < TASK_STRING_MAX ? len : TASK_STRING_MAX, out);
}

int task_snapshot_frame(struct task_snapshot *s, const struct task_frame *f, uint32_t *out)
{
	return seqtab_add(&s->frames, f, 1, out);
}

int task_snapshot_stack(struct task_snapshot *s, const uint32_t *frames, size_t n, uint32_t *out)
{
	if (seqtab_count(&s->stacks) >= TASK_STACKS_MAX)
		n = 0;
	return seqtab_add(&s->stacks, frames, n < TASK_FRAMES_MAX ? n : TASK_FRAMES_MAX, out);
}

int task_snapshot_add(struct task_snapshot *s, const struct task *t)
{
	if (s->tasks.len < TASKS_MAX)
		return vec_push(&s->tasks, *t);
	s->totals.n_unread += s->totals.one_in;
	return 0;
}

const struct task_frame *task_snapshot_frame_get(const struct task_snapshot *s, uint32_t id)
{
	return seqtab_get(&s->frames, id, NULL);
}
