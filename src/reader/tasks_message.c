/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/tasks_message.h"

#include <errno.h>
#include <string.h>

#include "base/cursor.h"
#include "base/strtab.h"
#include "profile/profile.h"

/* ---- writing --------------------------------------------------------------------------------- */

static void put32(struct buf *b, uint32_t v)
{
	buf_put(b, &v, sizeof(v));
}

void tasks_message_put(struct buf *b, const struct task_snapshot *s)
{
	struct tasks_head head = {
		.totals = s->totals,
		.n_strings = strtab_count(s->strings),
		.n_frames = seqtab_count(&s->frames),
		.n_stacks = seqtab_count(&s->stacks),
		.n_tasks = (uint32_t)s->tasks.len,
	};

	memcpy(head.runtime, s->runtime, sizeof(head.runtime));
	memcpy(head.version, s->version, sizeof(head.version));
	buf_put(b, &head, sizeof(head));
	for (uint32_t i = 0; i < head.n_strings; i++) {
		put32(b, (uint32_t)strtab_len(s->strings, i));
		buf_put(b, strtab_get(s->strings, i), strtab_len(s->strings, i));
	}
	for (uint32_t i = 0; i < head.n_frames; i++)
		buf_put(b, task_snapshot_frame_get(s, i), sizeof(struct task_frame));
	for (uint32_t i = 0; i < head.n_stacks; i++) {
		size_t n;
		const uint32_t *ids = seqtab_get(&s->stacks, i, &n);

		put32(b, (uint32_t)n);
		if (n)
			buf_put(b, ids, n * sizeof(*ids));
	}
	if (head.n_tasks)
		buf_put(b, s->tasks.data, head.n_tasks * sizeof(struct task));
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Interned entries are distinct, so their ids are those of the sender. */
static int check_id(int r, const uint32_t *id, uint32_t want)
{
	return r < 0 ? r : *id == want ? 0 : -EBADMSG;
}

static int read_string(struct cursor *c, struct task_snapshot *out, uint32_t want)
{
	const uint8_t *text;
	uint32_t len, id;

	if (!cursor_copy(c, &len, sizeof(len)) || len > TASK_STRING_MAX)
		return -EBADMSG;
	text = cursor_take(c, len);
	if (!text)
		return -EBADMSG;
	return check_id(task_snapshot_string(out, (const char *)text, len, &id), &id, want);
}

static int read_frame(struct cursor *c, struct task_snapshot *out, uint32_t want)
{
	uint32_t n = strtab_count(out->strings), id;
	struct task_frame f;

	if (!cursor_copy(c, &f, sizeof(f)) || f.function >= n || f.file >= n ||
	    f.kind >= PROFILE_FRAME_MAX || f.is_library > 1 || f.reserved)
		return -EBADMSG;
	return check_id(task_snapshot_frame(out, &f, &id), &id, want);
}

static int read_stack(struct cursor *c, struct task_snapshot *out, uint32_t want)
{
	uint32_t ids[TASK_FRAMES_MAX], n, id;

	if (!cursor_copy(c, &n, sizeof(n)) || n > TASK_FRAMES_MAX || want > TASK_STACKS_MAX ||
	    !cursor_copy(c, ids, n * sizeof(*ids)))
		return -EBADMSG;
	for (uint32_t i = 0; i < n; i++)
		if (ids[i] >= seqtab_count(&out->frames))
			return -EBADMSG;
	return check_id(task_snapshot_stack(out, ids, n, &id), &id, want);
}

static int read_task(struct cursor *c, struct task_snapshot *out)
{
	uint32_t n = strtab_count(out->strings);
	struct task t;

	if (!cursor_copy(c, &t, sizeof(t)) || t.stack >= seqtab_count(&out->stacks) ||
	    t.reason >= n || t.name >= n || !t.state || t.state >= TASK_STATE_MAX ||
	    t.wake >= TASK_WAKE_MAX || t.flags > (TASK_SYSTEM | TASK_CHANGED) || t.reserved)
		return -EBADMSG;
	return vec_push(&out->tasks, t);
}

int tasks_message_read(const uint8_t *data, size_t len, struct task_snapshot *out)
{
	struct cursor c = { data, len };
	struct tasks_head head;
	int r = 0;

	if (!cursor_copy(&c, &head, sizeof(head)) || head.n_tasks > TASKS_MAX ||
	    !head.totals.one_in || head.runtime[sizeof(head.runtime) - 1] ||
	    head.version[sizeof(head.version) - 1])
		return -EBADMSG;
	memcpy(out->runtime, head.runtime, sizeof(out->runtime));
	memcpy(out->version, head.version, sizeof(out->version));
	out->totals = head.totals;
	for (uint32_t i = 0; i < head.n_strings && r == 0; i++)
		r = read_string(&c, out, i);
	for (uint32_t i = 0; i < head.n_frames && r == 0; i++)
		r = read_frame(&c, out, i);
	for (uint32_t i = 0; i < head.n_stacks && r == 0; i++)
		r = read_stack(&c, out, i);
	for (uint32_t i = 0; i < head.n_tasks && r == 0; i++)
		r = read_task(&c, out);
	return r < 0 ? r : c.len ? -EBADMSG : 0;
}
