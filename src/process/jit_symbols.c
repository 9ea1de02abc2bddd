/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock protects the list, which the sampling thread extends while another one searches
 * it. The content of an entry belongs to the thread that symbolizes; jit_symbols_reap() frees
 * entries only while that thread is idle.
 */
#include "process/jit_symbols.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/vec.h"
#include "process/jit_source.h"
#include "process/process_table.h"
#include "reader/reader.h"
#include "roles/pool.h"
#include "symbol/jit_files.h"

struct process_jit {
	uint32_t pid;
	uint64_t start_ns;
	struct jit_source *map;  /* NULL: there is none */
	struct jit_source *dump; /* NULL: there is none */
	uint8_t n_ended;         /* number of windows since it ended */
};

enum {
	WINDOWS_AFTER_END = 3,
	READER_BYTES = 24 << 20, /* its heap; it needs 1 MiB, and room for unusual jitdumps */
	READERS_HUNG_MAX = 4,
	IDLE_BATCHES = 8, /* without work, after which the reader ends */
};

struct jit_symbols {
	pthread_mutex_t lock;
	struct process_table *procs;
	struct {
		VEC(struct process_jit *);
	} entries;
	struct index by_program;   /* maps to an index of all */
	struct role_pool *readers; /* NULL until needed; used by the symbolizer thread only */
	size_t reader_bytes;
	unsigned int n_idle; /* batches since the reader had work */
};

struct program_key {
	const struct jit_symbols *j;
	uint32_t pid;
	uint64_t start_ns;
};

static uint32_t key_hash(uint32_t pid, uint64_t start_ns)
{
	return hash_u64(start_ns ^ (uint64_t)pid << 32);
}

int jit_symbols_new(struct jit_symbols **out, struct process_table *procs)
{
	struct jit_symbols *j = calloc(1, sizeof(*j));

	if (!j)
		return -ENOMEM;
	pthread_mutex_init(&j->lock, NULL);
	j->procs = procs;
	j->reader_bytes = READER_BYTES;
	*out = j;
	return 0;
}

void jit_symbols_set_reader_bytes(struct jit_symbols *j, size_t bytes)
{
	j->reader_bytes = bytes;
}

static void drop_sources(struct process_jit *pj)
{
	jit_source_free(pj->map);
	jit_source_free(pj->dump);
	pj->map = pj->dump = NULL;
}

static void entry_free(struct process_jit *pj)
{
	drop_sources(pj);
	free(pj);
}

void jit_symbols_free(struct jit_symbols *j)
{
	if (!j)
		return;
	for (size_t i = 0; i < j->entries.len; i++)
		entry_free(j->entries.data[i]);
	vec_fini(&j->entries);
	index_fini(&j->by_program);
	role_pool_free(j->readers);
	pthread_mutex_destroy(&j->lock);
	free(j);
}

static bool same_program(const void *ctx, uint32_t id)
{
	const struct program_key *k = ctx;
	const struct process_jit *pj = k->j->entries.data[id];

	return pj->pid == k->pid && pj->start_ns == k->start_ns;
}

static struct process_jit *find_locked(const struct jit_symbols *j, uint32_t pid, uint64_t start_ns)
{
	struct program_key key = { j, pid, start_ns };
	uint32_t id;

	return index_find(&j->by_program, key_hash(pid, start_ns), same_program, &key, &id)
		       ? j->entries.data[id]
		       : NULL;
}

static struct process_jit *jit_symbols_get(struct jit_symbols *j, uint32_t pid, uint64_t start_ns)
{
	struct process_jit *pj;

	pthread_mutex_lock(&j->lock);
	pj = find_locked(j, pid, start_ns);
	pthread_mutex_unlock(&j->lock);
	return pj;
}

static int add(struct jit_symbols *j, struct process_jit *pj)
{
	int r;

	pthread_mutex_lock(&j->lock);
	r = vec_push(&j->entries, pj);
	if (r == 0) {
		r = index_add(&j->by_program, key_hash(pj->pid, pj->start_ns),
			      (uint32_t)j->entries.len - 1);
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
	int fd;

	if (jit_symbols_get(j, pid, start_ns))
		return;
	pj = calloc(1, sizeof(*pj));
	if (!pj)
		return;
	pj->pid = pid;
	pj->start_ns = start_ns;
	dump = process_table_jitdump(j->procs, pid, start_ns);
	fd = jit_files_open_map((pid_t)pid);
	if (fd >= 0)
		(void)jit_source_new(&pj->map, fd, JIT_PERF_MAP);
	fd = dump ? jit_files_open_dump((pid_t)pid, dump) : -1;
	if (fd >= 0)
		(void)jit_source_new(&pj->dump, fd, JIT_DUMP);
	/* the files may be those of the next program already */
	if (!process_table_still_runs(j->procs, pid, start_ns))
		drop_sources(pj);
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

/* ---- reading ------------------------------------------------------------------------------- */

/* The addresses [first, first + n) are those of one program, which are looked up in @source. */
struct task {
	struct jit_source *source;
	size_t first, n;
	uint64_t unread;
};

struct tasks {
	VEC(struct task);
};

static int by_program_and_address(const void *a, const void *b)
{
	const struct jit_symbols_address *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int by_unread(const void *a, const void *b)
{
	const struct task *x = a, *y = b;

	return x->unread < y->unread ? -1 : x->unread > y->unread;
}

static int add_task(struct tasks *tasks, struct jit_source *source, size_t first, size_t n)
{
	if (!source)
		return 0;
	return vec_push(tasks, (struct task){ source, first, n, jit_source_unread(source) });
}

static bool is_same_program(const struct jit_symbols_address *a,
			    const struct jit_symbols_address *b)
{
	return a->pid == b->pid && a->start_ns == b->start_ns;
}

/* Lists the files to read for the @n sorted addresses @addrs. */
static int list_tasks(struct jit_symbols *j, const struct jit_symbols_address *addrs, size_t n,
		      struct tasks *tasks)
{
	int r = 0;

	for (size_t i = 0, end; i < n && r == 0; i = end) {
		struct process_jit *pj = jit_symbols_get(j, addrs[i].pid, addrs[i].start_ns);

		for (end = i + 1; end < n && is_same_program(&addrs[end], &addrs[i]);)
			end++;
		if (pj)
			r = add_task(tasks, pj->dump, i, end - i);
		if (pj && r == 0)
			r = add_task(tasks, pj->map, i, end - i);
	}
	if (tasks->len)
		qsort(tasks->data, tasks->len, sizeof(*tasks->data), by_unread);
	return r;
}

/* Removes duplicates of a sorted array; returns the number that remains. */
static size_t make_unique(struct jit_symbols_address *addrs, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (!kept || by_program_and_address(&addrs[kept - 1], &addrs[i]))
			addrs[kept++] = addrs[i];
	return kept;
}

static struct role_pool *get_readers(struct jit_symbols *j)
{
	const struct role_pool_opts opts = {
		.max_children = 1,
		.max_abandoned = READERS_HUNG_MAX,
		.memory_bytes = j->reader_bytes,
	};

	if (!j->readers)
		(void)role_pool_new(&j->readers, &reader_role, &opts, NULL);
	return j->readers;
}

static int run_tasks(struct jit_symbols *j, const struct tasks *tasks,
		     const struct jit_symbols_address *addrs, const _Atomic uint64_t *until_ns)
{
	const uint64_t most_ns = JIT_SYMBOLS_MS * (uint64_t)CLOCK_MS_NS;
	struct jit_time time = { .left_ns = most_ns,
				 .end_ns = clock_monotonic_ns() + ROLE_PATIENCE * most_ns,
				 .until_ns = until_ns };
	struct {
		VEC(uint64_t);
	} of_task = { 0 };
	struct role_pool *readers = tasks->len ? get_readers(j) : NULL;
	int r = 0;

	j->n_idle = tasks->len ? 0 : j->n_idle;
	for (size_t i = 0; i < tasks->len && readers; i++) {
		const struct task *t = &tasks->data[i];

		r = vec_reserve(&of_task, t->n);
		if (r < 0)
			break;
		for (of_task.len = 0; of_task.len < t->n; of_task.len++)
			of_task.data[of_task.len] = addrs[t->first + of_task.len].addr;
		/* its error is remembered for jit_source_find() */
		(void)jit_source_look_up(t->source, readers, of_task.data, t->n, &time);
	}
	vec_fini(&of_task);
	return r;
}

int jit_symbols_look_up(struct jit_symbols *j, struct jit_symbols_address *addrs, size_t n,
			const _Atomic uint64_t *until_ns)
{
	struct tasks tasks = { 0 };
	int r;

	if (!n)
		return 0;
	qsort(addrs, n, sizeof(*addrs), by_program_and_address);
	n = make_unique(addrs, n);
	r = list_tasks(j, addrs, n, &tasks);
	if (r == 0)
		r = run_tasks(j, &tasks, addrs, until_ns);
	vec_fini(&tasks);
	return r;
}

void jit_symbols_end_batch(struct jit_symbols *j)
{
	if (j->readers && j->n_idle++ == IDLE_BATCHES)
		role_pool_stop_idle(j->readers);
}

/* ---- the end of processes ------------------------------------------------------------------ */

void jit_symbols_reap(struct jit_symbols *j, jit_symbols_ended_fn ended, void *ctx)
{
	size_t kept = 0;

	pthread_mutex_lock(&j->lock);
	index_fini(&j->by_program);
	for (size_t i = 0; i < j->entries.len; i++) {
		struct process_jit *pj = j->entries.data[i];

		pj->n_ended += pj->n_ended || ended(ctx, pj->pid, pj->start_ns);
		if (pj->n_ended >= WINDOWS_AFTER_END ||
		    index_add(&j->by_program, key_hash(pj->pid, pj->start_ns), (uint32_t)kept) < 0)
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
		n += sizeof(*pj) + (pj->map ? jit_source_bytes(pj->map) : 0) +
		     (pj->dump ? jit_source_bytes(pj->dump) : 0);
	return n;
}

int jit_symbols_find(struct jit_symbols *j, const struct jit_symbols_address *at,
		     struct jit_symbols_function *out)
{
	struct process_jit *pj = jit_symbols_get(j, at->pid, at->start_ns);
	struct jit_source_function fn;
	int of_dump = pj && pj->dump ? jit_source_find(pj->dump, at->addr, &fn) : -ENOENT,
	    r = of_dump;

	/* a jitdump has lines and code that moved, so it takes precedence */
	if (r < 0 && pj && pj->map)
		r = jit_source_find(pj->map, at->addr, &fn);
	if (r < 0)
		return r != -ENOENT ? r : of_dump;
	*out = (struct jit_symbols_function){ fn.name, fn.file, fn.line };
	return 0;
}
