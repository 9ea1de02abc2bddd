/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way to the weak set: interpreter, sys.modules, asyncio.tasks, WeakSet.data, weak references.
 * The field of sys.modules in the interpreter's state is found by its contents, so no offset is
 * needed: it is the first dictionary that has the module.
 */
#include "lang/tasks/asyncio_list.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lang/tasks/asyncio_layout.h"
#include "lang/tasks/python_objects.h"
#include "lang/tasks/task_pages.h"

enum {
	INTERPRETERS_MAX = 64,
	THREADS_MAX = 65536,
	LIST_MAX = 1 << 23,             /* entries of a set or list */
	INTERP_SEARCH_BYTES = 32 << 10, /* of an interpreter's state */
	ADDRESS_MIN = 65536,
	TRIES = 3,
};

struct listing {
	const struct asyncio_layout *layout;
	struct python_objects *o;
	struct asyncio_list *out;
	struct {
		VEC(uint64_t);
	} references;
	bool has_asyncio;
};

/* ---- the module ------------------------------------------------------------------------------ */

/* Returns 0; -ENOENT if the interpreter has not imported asyncio. */
static int find_module(struct listing *l, uint64_t interp, uint64_t *out)
{
	uint64_t at, module;
	int r = 0;

	for (uint64_t off = 0; off < INTERP_SEARCH_BYTES; off += 8) {
		r = task_pages_word(l->o->pages, interp + off, &at);
		if (r < 0)
			break;
		if (at < ADDRESS_MIN || at % 8 || python_kind_of(l->o, at) != PYTHON_DICT ||
		    python_dict_get(l->o, at, "asyncio.tasks", &module) < 0)
			continue;
		return python_kind_of(l->o, module) == PYTHON_MODULE
			       ? python_field(l->o, module, 0, out)
			       : -ENOENT;
	}
	return r == -ETIME || r == -ENOMEM ? r : -ENOENT;
}

/* ".../lib/python3.11/asyncio/tasks.py" is in the standard library's directory. */
static void find_directory(struct listing *l, uint64_t names)
{
	char *text = l->out->directory, *end;
	uint64_t file;

	if (python_dict_get(l->o, names, "__file__", &file) < 0 ||
	    python_text(l->o, file, text, sizeof(l->out->directory)) < 0) {
		*text = '\0';
		return;
	}
	end = strstr(text, "/asyncio/tasks.py");
	if (end)
		end[1] = '\0';
	else
		*text = '\0';
}

/* ---- sets ------------------------------------------------------------------------------------ */

static int add_reference(void *ctx, uint64_t addr)
{
	struct listing *l = ctx;

	return vec_push(&l->references, addr);
}

static int add_task(void *ctx, uint64_t addr)
{
	struct listing *l = ctx;

	return vec_push(&l->out->tasks, addr);
}

static int by_address(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The references are next to each other in memory, but not in the set. */
static int follow_references(struct listing *l)
{
	int r = 0;

	if (l->references.len)
		qsort(l->references.data, l->references.len, sizeof(uint64_t), by_address);
	for (size_t i = 0; i < l->references.len && r == 0; i++) {
		uint64_t at = l->references.data[i], task;

		if (python_kind_of(l->o, at) != PYTHON_WEAKREF)
			continue;
		r = python_field(l->o, at, 0, &task);
		if (r == 0 && task)
			r = add_task(l, task);
		else if (r == -EFAULT)
			r = 0;
	}
	l->references.len = 0;
	return r;
}

static bool is_fatal(int r)
{
	return r == -ETIME || r == -ENOMEM;
}

/* Calls @fn for each element, again if the set is changed or moved meanwhile. */
static int read_set(struct listing *l, uint64_t set, python_element_fn fn)
{
	size_t before = l->references.len, n_tasks = l->out->tasks.len;
	int r = 0;

	for (int i = 0; i < TRIES; i++) {
		r = python_set_each(l->o, set, LIST_MAX, fn, l);
		if (r == 0 || is_fatal(r))
			return r;
		l->references.len = before;
		l->out->tasks.len = n_tasks;
		task_pages_drop(l->o->pages);
	}
	l->out->n_damaged++;
	return 0;
}

static int read_weak_set(struct listing *l, uint64_t names, const char *name)
{
	uint64_t weak, data;
	int r = python_dict_get(l->o, names, name, &weak);

	if (r == 0)
		r = python_attribute_of(l->o, weak, PYTHON_SET, &data);
	if (r == 0)
		r = read_set(l, data, add_reference);
	else if (!is_fatal(r)) {
		l->out->n_damaged++;
		r = 0;
	}
	return r < 0 ? r : follow_references(l);
}

/* Tasks that have run eagerly since they were created, and have not waited yet. */
static int read_eager(struct listing *l, uint64_t names)
{
	uint64_t set;
	int r = python_dict_get(l->o, names, "_eager_tasks", &set);

	if (r == 0)
		r = read_set(l, set, add_task);
	return is_fatal(r) ? r : 0;
}

static int read_module(struct listing *l, uint64_t names)
{
	bool is_old = l->layout->py.minor < 12;
	int r = read_weak_set(l, names, is_old ? "_all_tasks" : "_scheduled_tasks");

	return r < 0 || is_old ? r : read_eager(l, names);
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Reads the circular list at @head once; -EBADMSG if it is not complete. */
static int walk_list(struct listing *l, uint64_t head)
{
	uint64_t at, start = l->out->tasks.len;
	int r = task_pages_word(l->o->pages, head, &at);

	while (r == 0 && at != head) {
		if (at < ADDRESS_MIN || at % 8 || l->out->tasks.len - start > LIST_MAX)
			return -EBADMSG;
		r = add_task(l, at - l->layout->task_node);
		if (r == 0)
			r = task_pages_word(l->o->pages, at, &at);
	}
	return r;
}

static int read_list(struct listing *l, uint64_t head)
{
	size_t before = l->out->tasks.len;
	int r = 0;

	for (int i = 0; i < TRIES; i++) {
		/* the tasks of an unsuccessful try stay; they are checked like all others */
		r = walk_list(l, head);
		if (r == 0 || is_fatal(r))
			return r;
		if (i + 1 < TRIES)
			l->out->tasks.len = before;
		task_pages_drop(l->o->pages);
	}
	l->out->n_damaged++;
	return 0;
}

static int read_lists(struct listing *l, uint64_t interp)
{
	const struct asyncio_layout *at = l->layout;
	uint64_t thread;
	int r = read_list(l, interp + at->interp_tasks);

	if (r == 0)
		r = task_pages_word(l->o->pages, interp + at->py.interp_threads, &thread);
	for (int i = 0; i < THREADS_MAX && r == 0 && thread; i++) {
		r = read_list(l, thread + at->thread_tasks);
		if (r == 0)
			r = task_pages_word(l->o->pages, thread + at->py.thread_next, &thread);
	}
	return is_fatal(r) ? r : 0;
}

/* ---- interpreters ---------------------------------------------------------------------------- */

static int read_interpreter(struct listing *l, uint64_t interp)
{
	uint64_t names;
	int r = find_module(l, interp, &names);

	if (r == -ENOENT)
		return 0;
	if (r == 0) {
		l->has_asyncio = true;
		if (!l->out->directory[0])
			find_directory(l, names);
		r = read_module(l, names);
	}
	if (r == 0 && l->layout->task_node)
		r = read_lists(l, interp);
	return is_fatal(r) ? r : 0;
}

static void sort_tasks(struct asyncio_list *list)
{
	size_t n = 0;

	if (!list->tasks.len)
		return;
	qsort(list->tasks.data, list->tasks.len, sizeof(uint64_t), by_address);
	for (size_t i = 0; i < list->tasks.len; i++)
		if (!n || list->tasks.data[n - 1] != list->tasks.data[i])
			list->tasks.data[n++] = list->tasks.data[i];
	list->tasks.len = n;
}

int asyncio_list_read(const struct asyncio_layout *layout, struct python_objects *o, uint64_t bias,
		      struct asyncio_list *out)
{
	struct listing l = { .layout = layout, .o = o, .out = out };
	uint64_t interp;
	int r = task_pages_word(o->pages, layout->py.interp_head + bias, &interp);

	for (int i = 0; i < INTERPRETERS_MAX && r == 0 && interp; i++) {
		r = read_interpreter(&l, interp);
		if (r == 0)
			r = task_pages_word(o->pages, interp + layout->py.interp_next, &interp);
	}
	vec_fini(&l.references);
	if (r < 0)
		return r;
	sort_tasks(out);
	return l.has_asyncio ? 0 : -ENODATA;
}
