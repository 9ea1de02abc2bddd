/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock protects the list, which the sampling thread extends while another one searches
 * it. The content of an entry belongs to the thread that symbolizes; jit_symbols_reap() frees
 * entries only while that thread is idle.
 */
#include "process/jit_symbols.h"

#include <errno.h>
#include <pthread.h>

#include "base/hash.h"
#include "base/index.h"
#include "base/vec.h"
#include "process/process_table.h"
#include "symbol/jitdump.h"
#include "symbol/perfmap.h"

struct process_jit {
	uint32_t pid;
	uint64_t start_ns;
	struct perfmap *map;  /* NULL: there is none */
	struct jitdump *dump; /* NULL: there is none */
	uint8_t n_ended;      /* number of windows since it ended */
};

enum { WINDOWS_AFTER_END = 3 };

struct jit_symbols {
	pthread_mutex_t lock;
	struct process_table *procs;
	struct {
		VEC(struct process_jit *);
	} entries;
	struct index by_pid; /* maps to an index of all */
};

struct pid_key {
	const struct jit_symbols *j;
	uint32_t pid;
};

int jit_symbols_new(struct jit_symbols **out, struct process_table *procs)
{
	struct jit_symbols *j = calloc(1, sizeof(*j));

	if (!j)
		return -ENOMEM;
	pthread_mutex_init(&j->lock, NULL);
	j->procs = procs;
	*out = j;
	return 0;
}

static void entry_free(struct process_jit *pj)
{
	perfmap_free(pj->map);
	jitdump_free(pj->dump);
	free(pj);
}

void jit_symbols_free(struct jit_symbols *j)
{
	if (!j)
		return;
	for (size_t i = 0; i < j->entries.len; i++)
		entry_free(j->entries.data[i]);
	vec_fini(&j->entries);
	index_fini(&j->by_pid);
	pthread_mutex_destroy(&j->lock);
	free(j);
}

static bool same_pid(const void *ctx, uint32_t id)
{
	const struct pid_key *k = ctx;

	return k->j->entries.data[id]->pid == k->pid;
}

static struct process_jit *find_locked(const struct jit_symbols *j, uint32_t pid)
{
	struct pid_key key = { j, pid };
	uint32_t id;

	return index_find(&j->by_pid, hash_u64(pid), same_pid, &key, &id) ? j->entries.data[id]
									  : NULL;
}

static struct process_jit *jit_symbols_get(struct jit_symbols *j, uint32_t pid)
{
	struct process_jit *pj;

	pthread_mutex_lock(&j->lock);
	pj = find_locked(j, pid);
	pthread_mutex_unlock(&j->lock);
	return pj;
}

static int add(struct jit_symbols *j, struct process_jit *pj)
{
	int r;

	pthread_mutex_lock(&j->lock);
	r = vec_push(&j->entries, pj);
	if (r == 0) {
		r = index_add(&j->by_pid, hash_u64(pj->pid), (uint32_t)j->entries.len - 1);
		if (r < 0)
			j->entries.len--;
	}
	pthread_mutex_unlock(&j->lock);
	return r;
}

void jit_symbols_note(struct jit_symbols *j, uint32_t pid, uint64_t start_ns)
{
	struct process_jit *pj;
	const char *dump;

	if (jit_symbols_get(j, pid))
		return;
	pj = calloc(1, sizeof(*pj));
	if (!pj)
		return;
	pj->pid = pid;
	pj->start_ns = start_ns;
	dump = process_table_jitdump(j->procs, pid);
	(void)perfmap_open(&pj->map, (pid_t)pid);
	if (dump)
		(void)jitdump_open(&pj->dump, (pid_t)pid, dump);
	if (add(j, pj) < 0)
		entry_free(pj);
}

static struct process_jit *entry_at(struct jit_symbols *j, size_t i)
{
	struct process_jit *pj;

	pthread_mutex_lock(&j->lock);
	pj = i < j->entries.len ? j->entries.data[i] : NULL;
	pthread_mutex_unlock(&j->lock);
	return pj;
}

void jit_symbols_refresh(struct jit_symbols *j)
{
	struct process_jit *pj;

	for (size_t i = 0; (pj = entry_at(j, i)); i++) {
		if (pj->map)
			(void)perfmap_refresh(pj->map);
		if (pj->dump)
			(void)jitdump_refresh(pj->dump);
	}
}

void jit_symbols_reap(struct jit_symbols *j, jit_symbols_ended_fn ended, void *ctx)
{
	size_t kept = 0;

	pthread_mutex_lock(&j->lock);
	index_fini(&j->by_pid);
	for (size_t i = 0; i < j->entries.len; i++) {
		struct process_jit *pj = j->entries.data[i];

		pj->n_ended += pj->n_ended || ended(ctx, pj->pid, pj->start_ns);
		if (pj->n_ended >= WINDOWS_AFTER_END ||
		    index_add(&j->by_pid, hash_u64(pj->pid), (uint32_t)kept) < 0)
			entry_free(pj);
		else
			j->entries.data[kept++] = pj;
	}
	j->entries.len = kept;
	pthread_mutex_unlock(&j->lock);
}

size_t jit_symbols_bytes(struct jit_symbols *j)
{
	struct process_jit *pj;
	size_t n = 0;

	for (size_t i = 0; (pj = entry_at(j, i)); i++)
		n += sizeof(*pj) + (pj->map ? perfmap_bytes(pj->map) : 0) +
		     (pj->dump ? jitdump_bytes(pj->dump) : 0);
	return n;
}

int jit_symbols_find(struct jit_symbols *j, uint32_t pid, uint64_t addr,
		     struct jit_symbols_function *out)
{
	struct process_jit *pj = jit_symbols_get(j, pid);
	struct jit_function fn;
	const char *file = "";
	uint32_t line = 0;

	/* a jitdump has lines and code that moved, so it takes precedence */
	if (pj && pj->dump && jitdump_find(pj->dump, addr, &fn, &file, &line) == 0) {
		*out = (struct jit_symbols_function){ fn.name, file, line };
		return 0;
	}
	if (pj && pj->map && perfmap_find(pj->map, addr, &fn) == 0) {
		*out = (struct jit_symbols_function){ fn.name, "", 0 };
		return 0;
	}
	return -ENOENT;
}
