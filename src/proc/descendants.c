/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/PID/task/TID/children would do it, but not every kernel has it (CONFIG_PROC_CHILDREN), so
 * the parents of all processes are read once.
 */
#include "proc/descendants.h"

#include <errno.h>
#include <stdlib.h>

#include "proc/stat.h"

struct family {
	uint32_t pid, parent;
};

struct families {
	VEC(struct family);
};

static int add_family(void *ctx, int pid)
{
	struct family f = { .pid = (uint32_t)pid };
	int parent = proc_parent(pid);

	if (parent <= 0)
		return 0;
	f.parent = (uint32_t)parent;
	return vec_push((struct families *)ctx, f);
}

static int by_parent(const void *a, const void *b)
{
	const struct family *x = a, *y = b;

	return x->parent < y->parent ? -1 : x->parent > y->parent;
}

/* Index of the first family of @parent, in order of parents. */
static size_t first_of(const struct families *all, uint32_t parent)
{
	size_t lo = 0, hi = all->len;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (all->data[mid].parent < parent)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* A pid may be reused while /proc is read, which could close a circle: each family counts once. */
static int add_children(struct families *all, uint32_t parent, struct proc_pids *out)
{
	for (size_t i = first_of(all, parent); i < all->len && all->data[i].parent == parent; i++) {
		int r = all->data[i].pid ? vec_push(out, all->data[i].pid) : 0;

		if (r < 0)
			return r;
		all->data[i].pid = 0;
	}
	return 0;
}

int proc_descendants(uint32_t pid, struct proc_pids *out)
{
	struct families all = { 0 };
	size_t next = out->len;
	int r = proc_each_pid(add_family, &all);

	if (r == 0 && all.len)
		qsort(all.data, all.len, sizeof(*all.data), by_parent);
	if (r == 0)
		r = add_children(&all, pid, out);
	for (; r == 0 && next < out->len; next++)
		r = add_children(&all, out->data[next], out);
	vec_fini(&all);
	return r;
}
