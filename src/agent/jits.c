/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock is for the list only. What an entry holds is read by the thread that
 * names, and freed when nobody does.
 */
#include "agent/jits.h"

#include <errno.h>
#include <pthread.h>

#include "agent/procs.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/vec.h"
#include "symbol/jitdump.h"
#include "symbol/perfmap.h"

struct process_jit {
	uint32_t pid;
	uint64_t start_ns;
	struct perfmap *map;  /* NULL: it has none */
	struct jitdump *dump; /* NULL: it has none */
	uint8_t n_ended;      /* how often it was found to have ended */
};

enum { KEEP_TURNS = 3 };

struct jits {
	pthread_mutex_t lock;
	struct procs *procs;
	struct {
		VEC(struct process_jit *);
	} all;
	struct index by_pid; /* -> all */
};

struct pid_key {
	const struct jits *j;
	uint32_t pid;
};

int jits_new(struct jits **out, struct procs *procs)
{
	struct jits *j = calloc(1, sizeof(*j));

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

void jits_free(struct jits *j)
{
	if (!j)
		return;
	for (size_t i = 0; i < j->all.len; i++)
		entry_free(j->all.data[i]);
	vec_fini(&j->all);
	index_fini(&j->by_pid);
	pthread_mutex_destroy(&j->lock);
	free(j);
}

static bool same_pid(const void *ctx, uint32_t id)
{
	const struct pid_key *k = ctx;

	return k->j->all.data[id]->pid == k->pid;
}

static struct process_jit *find_locked(const struct jits *j, uint32_t pid)
{
	struct pid_key key = { j, pid };
	uint32_t id;

	return index_find(&j->by_pid, hash_u64(pid), same_pid, &key, &id) ? j->all.data[id] : NULL;
}

static struct process_jit *jits_get(struct jits *j, uint32_t pid)
{
	struct process_jit *pj;

	pthread_mutex_lock(&j->lock);
	pj = find_locked(j, pid);
	pthread_mutex_unlock(&j->lock);
	return pj;
}

static int add(struct jits *j, struct process_jit *pj)
{
	int r;

	pthread_mutex_lock(&j->lock);
	r = vec_push(&j->all, pj);
	if (r == 0) {
		r = index_add(&j->by_pid, hash_u64(pj->pid), (uint32_t)j->all.len - 1);
		if (r < 0)
			j->all.len--;
	}
	pthread_mutex_unlock(&j->lock);
	return r;
}

void jits_note(struct jits *j, uint32_t pid, uint64_t start_ns)
{
	struct process_jit *pj;
	const char *dump;

	if (jits_get(j, pid))
		return;
	pj = calloc(1, sizeof(*pj));
	if (!pj)
		return;
	pj->pid = pid;
	pj->start_ns = start_ns;
	dump = procs_jitdump(j->procs, pid);
	(void)perfmap_open(&pj->map, (pid_t)pid);
	if (dump)
		(void)jitdump_open(&pj->dump, (pid_t)pid, dump);
	if (add(j, pj) < 0)
		entry_free(pj);
}

static struct process_jit *at(struct jits *j, size_t i)
{
	struct process_jit *pj;

	pthread_mutex_lock(&j->lock);
	pj = i < j->all.len ? j->all.data[i] : NULL;
	pthread_mutex_unlock(&j->lock);
	return pj;
}

void jits_refresh(struct jits *j)
{
	struct process_jit *pj;

	for (size_t i = 0; (pj = at(j, i)); i++) {
		if (pj->map)
			(void)perfmap_refresh(pj->map);
		if (pj->dump)
			(void)jitdump_refresh(pj->dump);
	}
}

void jits_reap(struct jits *j, jits_ended_fn ended, void *ctx)
{
	size_t kept = 0;

	pthread_mutex_lock(&j->lock);
	index_fini(&j->by_pid);
	for (size_t i = 0; i < j->all.len; i++) {
		struct process_jit *pj = j->all.data[i];

		pj->n_ended += pj->n_ended || ended(ctx, pj->pid, pj->start_ns);
		if (pj->n_ended >= KEEP_TURNS ||
		    index_add(&j->by_pid, hash_u64(pj->pid), (uint32_t)kept) < 0)
			entry_free(pj);
		else
			j->all.data[kept++] = pj;
	}
	j->all.len = kept;
	pthread_mutex_unlock(&j->lock);
}

size_t jits_bytes(struct jits *j)
{
	struct process_jit *pj;
	size_t n = 0;

	for (size_t i = 0; (pj = at(j, i)); i++)
		n += sizeof(*pj) + (pj->map ? perfmap_bytes(pj->map) : 0) +
		     (pj->dump ? jitdump_bytes(pj->dump) : 0);
	return n;
}

int jits_find(struct jits *j, uint32_t pid, uint64_t addr, struct jits_function *out)
{
	struct process_jit *pj = jits_get(j, pid);
	struct jit_function fn;
	const char *file = "";
	uint32_t line = 0;

	/* a dump tells more: lines, and code that has moved */
	if (pj && pj->dump && jitdump_find(pj->dump, addr, &fn, &file, &line) == 0) {
		*out = (struct jits_function){ fn.name, file, line };
		return 0;
	}
	if (pj && pj->map && perfmap_find(pj->map, addr, &fn) == 0) {
		*out = (struct jits_function){ fn.name, "", 0 };
		return 0;
	}
	return -ENOENT;
}
