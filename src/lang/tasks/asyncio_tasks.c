/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks are handled in batches in the order of their addresses. The pages of a batch are read once
 * (task_pages.h), and again for the second look.
 */
#include "lang/tasks/asyncio_tasks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "lang/tasks/asyncio_frames.h"
#include "lang/tasks/asyncio_layout.h"
#include "lang/tasks/asyncio_list.h"
#include "lang/tasks/asyncio_walk.h"
#include "lang/tasks/python_objects.h"
#include "lang/tasks/task_pages.h"
#include "lang/tasks/task_snapshot.h"
#include "profile/profile.h"

enum {
	BATCH = 1024,
	ROUNDS = 3, /* rounds of reading tasks that change meanwhile */
	NAME_BYTES = 128,
	REASON_BYTES = 128,
};

/* A task as it was read. */
struct look {
	uint64_t waiter; /* the future that it waits for, which only tasks in C record; 0: none */
	uint64_t coroutine; /* its address */
	struct asyncio_coroutine c;
	bool is_native; /* a task of the module _asyncio */
	bool is_opaque; /* the coroutine is not one of the interpreter */
};

struct entry {
	uint64_t addr;
	struct look look;
	struct task task;
	bool is_cut, is_done;
};

/*
 * The last method that tasks wait in, and its reason. The next task probably waits in the same one.
 */
struct method {
	uint64_t type; /* address; 0: none yet */
	char text[24];
	uint32_t reason;
};

struct reading {
	const struct asyncio_layout *layout;
	struct task_pages pages;
	struct python_objects objects;
	struct asyncio_frames frames;
	struct asyncio_list list;
	struct asyncio_chain chain;
	struct method method;
	struct task_snapshot *out;
	struct entry batch[BATCH];
	uint32_t n;
};

static bool is_fatal(int r)
{
	return r == -ETIME || r == -ENOMEM;
}

/* ---- a task ---------------------------------------------------------------------------------- */

/* Finds the coroutine of a task. A task in Python has it in an attribute. */
static int find_coroutine(struct reading *rd, uint64_t addr, struct look *out)
{
	uint64_t words[2];
	int r;

	out->is_native = python_kind_of(&rd->objects, addr) == PYTHON_TASK;
	if (!out->is_native)
		return python_attribute_of(&rd->objects, addr, PYTHON_COROUTINE, &out->coroutine);
	/* they are neighbors in all releases */
	r = task_pages_read(&rd->pages, addr + rd->layout->task_waiter, words, sizeof(words));
	out->waiter = words[0];
	out->coroutine = words[1];
	return r;
}

/* Return: 0; -ENOENT if the task is done; -EBADMSG if this is not a task; -EFAULT; -ETIME; -ENOMEM.
 */
static int look_at(struct reading *rd, uint64_t addr, struct look *out)
{
	const struct python_type *t;
	int r;

	*out = (struct look){ 0 };
	r = find_coroutine(rd, addr, out);
	if (r == 0)
		r = python_type_of(&rd->objects, out->coroutine, &t);
	if (r < 0)
		return r == -ENOENT ? -EBADMSG : r;
	out->is_opaque = t->kind != PYTHON_COROUTINE && t->kind != PYTHON_GENERATOR;
	out->c.state = ASYNCIO_SUSPENDED;
	if (!out->is_opaque)
		r = asyncio_coroutine_read(&rd->frames, out->coroutine, &out->c);
	return r == 0 && out->c.state == ASYNCIO_FINISHED ? -ENOENT : r;
}

/* True if the task was the same before and after its stack was read. */
static bool is_same(const struct look *a, const struct look *b)
{
	return a->waiter == b->waiter && a->coroutine == b->coroutine && a->c.state == b->c.state &&
	       (a->c.state == ASYNCIO_RUNNING || (a->c.code == b->c.code && a->c.at == b->c.at));
}

static enum task_state state_of(const struct reading *rd, const struct look *look)
{
	const struct asyncio_chain *chain = &rd->chain;

	if (look->c.state == ASYNCIO_RUNNING)
		return TASK_RUNNING;
	if (look->is_native)
		return look->waiter ? TASK_WAITING : TASK_RUNNABLE;
	return chain->future || chain->wait != ASYNCIO_WAIT_NONE ? TASK_WAITING : TASK_RUNNABLE;
}

/* ---- what it waits for ----------------------------------------------------------------------- */

static int set_text(struct reading *rd, const char *text, uint32_t *out)
{
	return task_snapshot_string(rd->out, text, strlen(text), out);
}

/* "Lock.acquire". Locks and conditions are only released by tasks. */
static int set_method(struct reading *rd, struct task *t)
{
	const struct asyncio_chain *chain = &rd->chain;
	const struct python_type *type;
	struct method *m = &rd->method;
	char text[REASON_BYTES];
	int r;

	if (!chain->object || python_type_of(&rd->objects, chain->object, &type) < 0)
		return set_text(rd, chain->text, &t->reason);
	t->object = chain->object;
	if (!strcmp(type->name, "Lock") || !strcmp(type->name, "Condition"))
		t->wake = TASK_WAKE_TASK;
	if (m->type == type->addr && !strcmp(m->text, chain->text)) {
		t->reason = m->reason;
		return 0;
	}
	if (!strcmp(chain->text, "__await__"))
		return set_text(rd, type->name, &t->reason);
	snprintf(text, sizeof(text), "%s.%s", type->name, chain->text);
	m->type = type->addr;
	memcpy(m->text, chain->text, sizeof(m->text));
	r = set_text(rd, text, &m->reason);
	t->reason = m->reason;
	return r;
}

static int set_future(struct reading *rd, uint64_t future, struct task *t)
{
	const struct python_type *type;
	const char *name = "future";

	if (python_type_of(&rd->objects, future, &type) == 0) {
		if (type->kind == PYTHON_TASK || !strcmp(type->name, "_GatheringFuture"))
			t->wake = TASK_WAKE_TASK;
		name = type->kind == PYTHON_TASK                 ? "task"
		       : !strcmp(type->name, "_GatheringFuture") ? "gather"
		       : !strcmp(type->name, "Future")           ? "future"
								 : type->name;
	}
	t->object = future;
	return set_text(rd, name, &t->reason);
}

/* From 3.12 on, a name that was not set is a number until somebody reads it. */
static int set_name(struct reading *rd, uint64_t addr, struct task *t)
{
	struct python_objects *o = &rd->objects;
	enum python_kind kind;
	char text[NAME_BYTES];
	uint64_t name;
	uint32_t n;

	if (task_pages_word(&rd->pages, addr + rd->layout->task_name, &name) < 0)
		return 0;
	kind = python_kind_of(o, name);
	if (kind == PYTHON_STRING && python_text(o, name, text, sizeof(text)) == 0)
		return set_text(rd, text, &t->name);
	if (kind != PYTHON_INT || rd->layout->py.minor < 12 || python_small_int(o, name, &n) < 0)
		return 0;
	snprintf(text, sizeof(text), "Task-%" PRIu32, n);
	return set_text(rd, text, &t->name);
}

static int set_reason(struct reading *rd, const struct look *look, struct task *t)
{
	const struct asyncio_chain *chain = &rd->chain;
	uint64_t future = look->waiter ? look->waiter : chain->future;
	int r;

	if (chain->wait == ASYNCIO_WAIT_NONE)
		r = set_future(rd, future, t);
	else
		r = chain->wait == ASYNCIO_WAIT_OBJECT ? set_method(rd, t)
						       : set_text(rd, chain->text, &t->reason);
	if (r == 0 && chain->wait != ASYNCIO_WAIT_NONE && !t->wake)
		t->wake = chain->wake;
	if (r == 0 && future && python_kind_of(&rd->objects, future) == PYTHON_TASK) {
		t->waits_for = future;
		/* names of other tasks are not needed, and most would be another string */
		r = look->is_native ? set_name(rd, t->id, t) : 0;
	}
	return r;
}

/* ---- a stack --------------------------------------------------------------------------------- */

/* A coroutine of Cython, for instance, has only a type. */
static int add_opaque(struct reading *rd, const struct look *look)
{
	const struct python_type *type;
	char text[REASON_BYTES] = "[coroutine]";
	struct task_frame frame = { .kind = PROFILE_FRAME_PYTHON };
	int r;

	if (python_type_of(&rd->objects, look->coroutine, &type) == 0)
		snprintf(text, sizeof(text), "[coroutine of type %s]", type->name);
	r = set_text(rd, text, &frame.function);
	rd->chain = (struct asyncio_chain){ .n = 1, .is_cut = true };
	return r < 0 ? r : task_snapshot_frame(rd->out, &frame, &rd->chain.frames[0]);
}

static int intern_stack(struct reading *rd, uint32_t *out)
{
	const struct asyncio_chain *chain = &rd->chain;
	uint32_t frames[TASK_FRAMES_MAX];

	for (uint32_t i = 0; i < chain->n; i++)
		frames[i] = chain->frames[chain->n - 1 - i];
	return task_snapshot_stack(rd->out, frames, chain->n, out);
}

static int read_stack(struct reading *rd, struct entry *e)
{
	struct look *look = &e->look;
	int r;

	if (look->is_opaque)
		r = add_opaque(rd, look);
	else
		r = asyncio_walk(&rd->frames, look->coroutine, &look->c, &rd->chain);
	e->task = (struct task){ .id = e->addr, .state = (uint8_t)state_of(rd, look) };
	e->is_cut = rd->chain.is_cut;
	if (r == 0)
		r = intern_stack(rd, &e->task.stack);
	if (r == 0 && e->task.state == TASK_WAITING) {
		const uint64_t place[] = { e->addr, look->coroutine, rd->chain.position,
					   look->waiter };

		e->task.place = XXH3_64bits(place, sizeof(place));
		r = set_reason(rd, look, &e->task);
	}
	return r;
}

/* ---- a batch --------------------------------------------------------------------------------- */

/* Reads the tasks of the entries that are not done. An entry without a task becomes done. */
static int read_tasks(struct reading *rd)
{
	int r = 0;

	task_pages_drop(&rd->pages);
	for (uint32_t i = 0; i < rd->n && !is_fatal(r); i++) {
		struct entry *e = &rd->batch[i];

		if (e->is_done)
			continue;
		r = look_at(rd, e->addr, &e->look);
		if (r == 0)
			r = read_stack(rd, e);
		else if (!is_fatal(r)) {
			e->is_done = true;
			rd->out->totals.n_invalid += r != -ENOENT;
		}
	}
	return is_fatal(r) ? r : 0;
}

static int add_task(struct reading *rd, struct entry *e, bool is_changed)
{
	e->is_done = true;
	if (is_changed) {
		e->task.stack = 0;
		e->task.flags |= TASK_CHANGED;
		rd->out->totals.n_changed++;
	} else {
		rd->out->totals.n_cut += e->is_cut;
	}
	return task_snapshot_add(rd->out, &e->task);
}

/* Adds the tasks that have not changed since they were read. Entries of others stay undone. */
static int check(struct reading *rd, bool is_last)
{
	int r = 0;

	task_pages_drop(&rd->pages);
	for (uint32_t i = 0; i < rd->n && !is_fatal(r); i++) {
		struct entry *e = &rd->batch[i];
		struct look now;
		bool is_changed;

		if (e->is_done)
			continue;
		r = look_at(rd, e->addr, &now);
		if (is_fatal(r))
			break;
		/* one that has ended meanwhile is found by the next round, or is not in the last */
		e->is_done = r < 0 && is_last;
		if (r < 0)
			continue;
		is_changed = !is_same(&e->look, &now);
		if (!is_changed || is_last)
			r = add_task(rd, e, is_changed);
	}
	return is_fatal(r) ? r : 0;
}

static int read_batch(struct reading *rd)
{
	int r = 0;

	for (int i = 0; i < ROUNDS && r == 0; i++) {
		r = read_tasks(rd);
		if (r == 0)
			r = check(rd, i + 1 == ROUNDS);
	}
	for (uint32_t i = 0; i < rd->n; i++)
		rd->out->totals.n_unread += !rd->batch[i].is_done;
	rd->n = 0;
	return r;
}

/* ---- the list -------------------------------------------------------------------------------- */

/*
 * Tasks are selected by their addresses, so snapshots with similar numbers of tasks select the same
 * ones.
 */
static int read_listed(struct reading *rd)
{
	uint32_t one_in = rd->out->totals.one_in;
	const uint64_t *all = rd->list.tasks.data;
	size_t n = rd->list.tasks.len;
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		if (one_in > 1 && hash_u64(all[i]) % one_in != 0)
			continue;
		if (r < 0) {
			rd->out->totals.n_unread++;
			continue;
		}
		rd->batch[rd->n++] = (struct entry){ .addr = all[i] };
		if (rd->n == BATCH)
			r = read_batch(rd);
	}
	if (rd->n && r == 0)
		r = read_batch(rd);
	return r == -ETIME ? 0 : r;
}

static int read_all(struct reading *rd, uint64_t bias, uint32_t max)
{
	struct task_totals *totals = &rd->out->totals;
	int r;

	totals->time_ns = clock_monotonic_ns();
	r = asyncio_list_read(rd->layout, &rd->objects, bias, &rd->list);
	if (r < 0)
		return r == -ETIME ? -EFAULT : r;
	task_totals_choose(totals, rd->list.tasks.len, max);
	totals->n_invalid = rd->list.n_damaged;
	return read_listed(rd);
}

int asyncio_tasks_read_layout(const struct asyncio_layout *layout, uint64_t bias,
			      struct task_memory *m, uint32_t max, struct task_snapshot *out)
{
	_cleanup_(freep) struct reading *rd = calloc(1, sizeof(*rd));
	int r;

	if (!rd)
		return -ENOMEM;
	rd->layout = layout;
	rd->out = out;
	rd->pages.memory = m;
	rd->objects.py = &layout->py;
	rd->objects.pages = &rd->pages;
	rd->frames.layout = layout;
	rd->frames.objects = &rd->objects;
	rd->frames.out = out;
	rd->frames.directory = rd->list.directory;
	snprintf(out->runtime, sizeof(out->runtime), "Python");
	memcpy(out->version, layout->version, sizeof(out->version));
	r = read_all(rd, bias, max);
	asyncio_frames_fini(&rd->frames);
	python_objects_fini(&rd->objects);
	task_pages_fini(&rd->pages);
	vec_fini(&rd->list.tasks);
	return r;
}

static int read_process(const struct task_source *src, struct task_memory *m, uint32_t max,
			struct task_snapshot *out)
{
	struct asyncio_layout layout;
	int r = asyncio_layout_find(src->img, src->module, &layout);

	return r < 0 ? r : asyncio_tasks_read_layout(&layout, src->bias, m, max, out);
}

const struct task_reader asyncio_task_reader = { .read = read_process };
