/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A descriptor of /proc/PID/mem refers to the memory that the process had when it was opened, even
 * after an exec. A check by is_current() after the opening therefore proves that it is the memory
 * of the expected program.
 */
#include "reader/lang_memory.h"

#include <stdio.h>

#include "base/regular_file.h"
#include "lang/lang.h"
#include "proc/stat.h"
#include "proc/user.h"

#define PAYER_MEMORY (1ULL << 61)

void lang_memories_init(struct lang_memories *m)
{
	*m = (struct lang_memories){ 0 };
	for (int i = 0; i < LANG_MEMORIES_MAX; i++)
		m->all[i].fd = -1;
}

static void forget(struct lang_memory *e)
{
	closep(&e->fd);
	*e = (struct lang_memory){ .fd = -1 };
}

void lang_memories_fini(struct lang_memories *m)
{
	for (int i = 0; i < LANG_MEMORIES_MAX; i++)
		forget(&m->all[i]);
}

static struct lang_memory *find(struct lang_memories *m, const struct lang_process *p)
{
	for (int i = 0; i < LANG_MEMORIES_MAX; i++)
		if (m->all[i].fd >= 0 && m->all[i].pid == p->pid &&
		    m->all[i].start_ns == p->start_ns)
			return &m->all[i];
	return NULL;
}

/* Returns a free entry; if there is none, evicts the least recently used one. */
static struct lang_memory *make_room(struct lang_memories *m)
{
	struct lang_memory *oldest = &m->all[0];

	for (int i = 1; i < LANG_MEMORIES_MAX; i++)
		if (m->all[i].used < oldest->used)
			oldest = &m->all[i];
	forget(oldest);
	return oldest;
}

/* Opens the memory of a thread of the process that has it. Returns a descriptor or -errno. */
static int open_memory(uint32_t pid)
{
	int task = proc_living_thread((int)pid);
	char path[64];
	const struct regular_file_query q = {
		.path = path,
		.root = -1,
		.is_of_proc = true,
		.payers = { PAYER_MEMORY | pid, 0 },
		.user = proc_user_of(pid),
	};
	struct regular_file_info found;

	if (task < 0)
		return task;
	snprintf(path, sizeof(path), "/proc/%d/mem", task);
	return regular_file_find(&q, &found);
}

struct lang_memory *lang_memories_get(struct lang_memories *m, const struct lang_process *p)
{
	struct lang_memory *e = find(m, p);
	int fd;

	if (e && !p->is_current) {
		forget(e);
		e = NULL;
	}
	if (!e) {
		if (p->is_current && !p->is_current(p->ctx))
			return NULL;
		fd = open_memory(p->pid);
		/* it is the memory of this program if that still runs after it was opened */
		if (fd >= 0 && p->is_current && !p->is_current(p->ctx))
			closep(&fd), fd = -1;
		if (fd < 0)
			return NULL;
		e = make_room(m);
		*e = (struct lang_memory){ .pid = p->pid, .start_ns = p->start_ns, .fd = fd };
	}
	e->used = ++m->clock;
	return e;
}
