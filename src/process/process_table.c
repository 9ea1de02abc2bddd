/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process is known once its mappings are: because its exec was seen, because its parent was
 * known when it forked, or because /proc was read. Everything uncertain (lost side-band
 * records, a mapping event of an unknown process) is resolved by reading /proc again, which
 * is authoritative.
 *
 * Each program that runs under a pid has a struct entry of its own. Entries of earlier
 * programs are chained behind the newest one until all of their samples have surely arrived.
 */
#include "process/process_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/vec.h"
#include "proc/maps.h"
#include "proc/stat.h"
#include "process/file_table.h"
#include "process/mapping_set.h"
#include "process/runtimes.h"
#include "sampler/sampler.h"
#include "symbol/jitdump.h"

#define KEEP_ENDED_NS 3000000000ULL

enum {
	EAGER_MAPPINGS_MAX = 1024, /* larger sets are published when a sample needs them */
	REREAD_COST_SHARE = 20,    /* rereading a process may take up to 1/20 of the time */
};

struct entry {
	struct process info; /* first, because callers see only this */
	struct mapping_set *maps;
	char *jitdump; /* NULL: none was seen */
	struct entry *older;
	uint32_t n_threads; /* besides the main thread; valid if all_threads_seen */
	bool all_threads_seen;
	bool main_thread_ended;
	/* The main thread existed when last checked, and no event of its end was seen since. */
	bool main_thread_alive;
	bool is_stale;          /* /proc must be read before the mappings are right */
	bool dirty;             /* listed in process_table.dirty */
	bool unmapped_is_final; /* see struct unwind_process */
	struct runtimes runtimes;
	uint64_t next_reread_ns;
};

struct process_table {
	struct file_table *files;
	struct unwind_tables *tables;
	struct sampler *sampler;
	struct langs *langs; /* may be NULL */
	bool follow_only;
	struct {
		VEC(struct entry *);
	} slots; /* newest program by slot; NULL: free */
	struct {
		VEC(uint32_t);
	} free_slots;
	struct index by_pid; /* maps to a slot */
	struct {
		VEC(uint32_t);
	} dirty; /* pids of changed processes */
	struct process_table_stats stats;
};

struct pid_key {
	const struct process_table *p;
	uint32_t pid;
};

static bool same_pid(const void *ctx, uint32_t slot)
{
	const struct pid_key *k = ctx;

	return k->p->slots.data[slot]->info.pid == k->pid;
}

static struct entry *entry_get(const struct process_table *p, uint32_t pid)
{
	struct pid_key key = { p, pid };
	uint32_t slot;

	return index_find(&p->by_pid, hash_u64(pid), same_pid, &key, &slot) ? p->slots.data[slot]
									    : NULL;
}

int process_table_new(struct process_table **out, struct file_table *files,
		      struct unwind_tables *tables, struct sampler *sampler)
{
	struct process_table *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->files = files;
	p->tables = tables;
	p->sampler = sampler;
	*out = p;
	return 0;
}

void process_table_set_langs(struct process_table *p, struct langs *langs)
{
	p->langs = langs;
}

static void entry_free(struct process_table *p, struct entry *e, uint64_t now_ns)
{
	mapping_set_unref(e->maps, p->tables, now_ns);
	free(e->jitdump);
	free(e);
}

void process_table_free(struct process_table *p)
{
	struct entry *older;

	if (!p)
		return;
	for (size_t i = 0; i < p->slots.len; i++) {
		for (struct entry *e = p->slots.data[i]; e; e = older) {
			older = e->older;
			entry_free(p, e, 0);
		}
	}
	vec_fini(&p->slots);
	vec_fini(&p->free_slots);
	vec_fini(&p->dirty);
	index_fini(&p->by_pid);
	free(p);
}

/* Assigns a slot to a pid that has none. */
static int slot_add(struct process_table *p, struct entry *e)
{
	uint32_t slot;
	int r;

	if (p->free_slots.len) {
		slot = p->free_slots.data[--p->free_slots.len];
		p->slots.data[slot] = e;
	} else {
		slot = (uint32_t)p->slots.len;
		r = vec_push(&p->slots, e);
		if (r < 0)
			return r;
	}
	r = index_add(&p->by_pid, hash_u64(e->info.pid), slot);
	if (r < 0)
		p->slots.data[slot] = NULL;
	return r;
}

static void entry_end(struct process_table *p, struct entry *e, uint64_t time_ns)
{
	if (e->info.end_ns)
		return;
	e->info.end_ns = time_ns;
	p->stats.n_running--;
}

/* Adds a new program under @pid and chains the previous one behind it. NULL if memory ran out. */
static struct entry *entry_add(struct process_table *p, uint32_t pid, uint64_t start_ns)
{
	struct entry *e = calloc(1, sizeof(*e)), *old = entry_get(p, pid);
	struct pid_key key = { p, pid };
	uint32_t slot;

	if (!e)
		return NULL;
	e->info.pid = pid;
	e->info.start_ns = start_ns;
	e->maps = mapping_set_new();
	if (!e->maps) {
		free(e);
		return NULL;
	}
	if (old) {
		e->info.ppid = old->info.end_ns ? 0 : old->info.ppid; /* an exec keeps the parent */
		entry_end(p, old, start_ns);
		e->older = old;
		index_find(&p->by_pid, hash_u64(pid), same_pid, &key, &slot);
		p->slots.data[slot] = e;
	} else if (slot_add(p, e) < 0) {
		entry_free(p, e, 0);
		return NULL;
	}
	p->stats.n_running++;
	p->stats.n_seen++;
	return e;
}

/* Fills the array with zeros behind the name, because threads are compared by their bytes. */
static void set_comm(struct entry *e, const char *comm)
{
	memset(e->info.comm, 0, sizeof(e->info.comm));
	snprintf(e->info.comm, sizeof(e->info.comm), "%s", comm);
}

static void mark_dirty(struct process_table *p, struct entry *e)
{
	e->unmapped_is_final = false;
	if (e->dirty)
		return;
	e->dirty = vec_push(&p->dirty, e->info.pid) == 0;
}

/* ---- mappings ------------------------------------------------------------- */

static bool is_file_name(const char *name)
{
	return name[0] == '/' && name[1] != '/' && strncmp(name, "/dev/zero", 9) != 0 &&
	       strncmp(name, "/SYSV", 5) != 0;
}

static void entry_map(struct process_table *p, struct entry *e, const struct file_ref *ref,
		      uint64_t file_off)
{
	struct unwind_mapping map = { .start = ref->start,
				      .end = ref->end,
				      .file_off = file_off,
				      .kind = MAPPING_ANONYMOUS };

	if (!e->jitdump && jitdump_is_path(ref->path))
		e->jitdump = strdup(ref->path);
	if (!strcmp(ref->path, "[vdso]")) {
		map.file = file_table_vdso(p->files);
		map.file_off = 0;
	} else if (is_file_name(ref->path)) {
		map.file = file_table_find(p->files, ref);
	}
	if (map.file)
		map.kind = MAPPING_FILE;
	else
		map.file_off = 0;
	if (map.file && !e->info.exe && is_file_name(ref->path))
		e->info.exe = map.file;
	(void)mapping_set_add(e->maps, &map);
}

struct reread_job {
	struct process_table *p;
	struct entry *e;
};

static int on_proc_map(void *ctx, const struct proc_map *m)
{
	struct reread_job *job = ctx;
	struct file_ref ref = {
		.pid = job->e->info.pid,
		.start = m->start,
		.end = m->end,
		.dev_major = m->dev_major,
		.dev_minor = m->dev_minor,
		.inode = m->inode,
		.path = m->path,
	};

	entry_map(job->p, job->e, &ref, m->file_off);
	return 0;
}

/*
 * Replaces the known mappings with those in /proc, unless the last reread was too recent.
 * Returns 0, -ESRCH if the process is gone, or -ENOMEM.
 */
static int entry_reread(struct process_table *p, struct entry *e, uint64_t now_ns)
{
	struct reread_job job = { p, e };
	struct mapping_set *own;
	uint64_t started_ns = clock_monotonic_ns(), ended_ns;
	int r;

	if (e->next_reread_ns > now_ns)
		return 0;
	own = mapping_set_own(e->maps, p->tables, now_ns);
	if (!own)
		return -ENOMEM;
	e->maps = own;
	runtimes_detach(&e->runtimes);
	mapping_set_clear(own);
	r = proc_maps_read((int)e->info.pid, PROC_MAPS_EXEC, on_proc_map, &job, NULL);
	e->is_stale = false;
	ended_ns = clock_monotonic_ns();
	e->next_reread_ns = ended_ns + (ended_ns - started_ns) * REREAD_COST_SHARE;
	return r;
}

static struct entry *entry_from_proc(struct process_table *p, uint32_t pid)
{
	struct entry *e = entry_add(p, pid, 0);
	char comm[16];

	if (!e)
		return NULL;
	proc_comm((int)pid, comm);
	set_comm(e, comm);
	e->is_stale = true;
	mark_dirty(p, e);
	return e;
}

/* ---- events --------------------------------------------------------------- */

static void on_map(struct process_table *p, const struct sideband_event *ev)
{
	struct entry *e = entry_get(p, ev->pid);
	struct file_ref ref = {
		.pid = ev->pid,
		.start = ev->start,
		.end = ev->start + ev->len,
		.dev_major = ev->dev_major,
		.dev_minor = ev->dev_minor,
		.inode = ev->inode,
		.path = ev->name,
	};
	struct mapping_set *own;

	if (!e && !p->follow_only)
		e = entry_from_proc(p, ev->pid);
	if (!e || e->is_stale)
		return;
	own = mapping_set_own(e->maps, p->tables, ev->time_ns);
	if (!own)
		return;
	e->maps = own;
	entry_map(p, e, &ref, ev->file_off);
	mark_dirty(p, e);
}

static void on_exec(struct process_table *p, const struct sideband_event *ev)
{
	struct entry *e;

	if (p->follow_only && !entry_get(p, ev->pid))
		return;
	e = entry_add(p, ev->pid, ev->time_ns);
	if (!e)
		return;
	set_comm(e, ev->name);
	e->all_threads_seen = true;
	mark_dirty(p, e);
}

static void on_fork(struct process_table *p, const struct sideband_event *ev)
{
	struct entry *parent = entry_get(p, ev->ppid), *e;

	if (ev->pid != ev->tid) { /* a thread */
		e = entry_get(p, ev->pid);
		if (e)
			e->n_threads++;
		return;
	}
	if (p->follow_only && !parent)
		return;
	e = entry_add(p, ev->pid, ev->time_ns);
	if (!e)
		return;
	e->info.ppid = ev->ppid;
	e->all_threads_seen = true;
	mark_dirty(p, e);
	if (!parent) {
		e->is_stale = true;
		return;
	}
	memcpy(e->info.comm, parent->info.comm, sizeof(e->info.comm));
	e->info.exe = parent->info.exe;
	e->runtimes = parent->runtimes;
	e->is_stale = parent->is_stale;
	mapping_set_unref(e->maps, p->tables, ev->time_ns);
	e->maps = mapping_set_ref(parent->maps);
}

/*
 * Returns true if the process continues after the exit of this thread. Other threads may
 * outlive the main thread; the process ends with its last thread. Threads are counted if all
 * of them were seen to start; otherwise /proc decides.
 */
static bool continues_after(struct entry *e, const struct sideband_event *ev)
{
	bool first = ev->pid == ev->tid;

	if (!first && e->n_threads)
		e->n_threads--;
	e->main_thread_ended |= first;
	if (e->all_threads_seen)
		return e->n_threads || !e->main_thread_ended;
	if (!first && e->main_thread_alive)
		return true;
	e->main_thread_alive = !first && proc_main_thread_is_alive((int)ev->pid);
	return e->main_thread_alive || proc_is_alive((int)ev->pid);
}

static void on_exit_event(struct process_table *p, const struct sideband_event *ev)
{
	struct entry *e = entry_get(p, ev->pid);

	if (!e || continues_after(e, ev))
		return;
	entry_end(p, e, ev->time_ns);
	sampler_end_process(p->sampler, ev->pid);
}

void process_table_reread_all(struct process_table *p)
{
	for (size_t i = 0; i < p->slots.len; i++) {
		struct entry *e = p->slots.data[i];

		if (!e || e->info.end_ns)
			continue;
		e->is_stale = true;
		e->all_threads_seen = false;
		mark_dirty(p, e);
	}
}

void process_table_handle(struct process_table *p, const struct sideband_event *ev)
{
	struct entry *e;

	switch (ev->type) {
	case SIDEBAND_MAP:
		on_map(p, ev);
		break;
	case SIDEBAND_EXEC:
		on_exec(p, ev);
		break;
	case SIDEBAND_FORK:
		on_fork(p, ev);
		break;
	case SIDEBAND_EXIT:
		on_exit_event(p, ev);
		break;
	case SIDEBAND_LOST:
		p->stats.n_sideband_lost += ev->n_lost;
		process_table_reread_all(p);
		break;
	case SIDEBAND_COMM:
		e = entry_get(p, ev->pid);
		if (e && ev->pid == ev->tid)
			set_comm(e, ev->name);
		break;
	}
}

/* ---- publication ---------------------------------------------------------- */

static void entry_attach(struct process_table *p, struct entry *e, uint64_t now_ns)
{
	const struct runtimes_context of = { p->langs, p->files, p->tables, &e->maps, e->info.pid };

	if (!e->info.end_ns)
		runtimes_attach(&e->runtimes, &of, now_ns);
}

uint64_t process_table_vm_bias(const struct process_table *p, uint32_t pid, uint32_t vm)
{
	const struct entry *e = entry_get(p, pid);

	return e ? runtimes_bias(p->files, e->maps, vm) : 0;
}

static int entry_publish(struct process_table *p, struct entry *e, uint64_t now_ns,
			 struct unwind_process *out)
{
	int r = 0;

	if (e->is_stale)
		r = entry_reread(p, e, now_ns);
	if (r < 0 && !mapping_set_count(e->maps))
		return r;
	r = mapping_set_publish(e->maps, p->tables, now_ns, out);
	if (r < 0)
		return r;
	out->unmapped_is_final = e->unmapped_is_final;
	runtimes_describe(&e->runtimes, p->files, e->maps, out);
	/* the pid may belong to a successor already, whose entry must stay */
	if (!e->info.end_ns)
		r = sampler_put_process(p->sampler, e->info.pid, out);
	return r;
}

void process_table_publish(struct process_table *p, uint64_t now_ns)
{
	struct unwind_process ignored;

	for (size_t i = 0; i < p->dirty.len; i++) {
		struct entry *e = entry_get(p, p->dirty.data[i]);

		if (!e)
			continue;
		e->dirty = false;
		if (e->info.end_ns)
			continue;
		/* the sooner generated code is known, the fewer samples arrive raw */
		if (!e->is_stale)
			entry_attach(p, e, now_ns);
		if (e->is_stale || mapping_set_count(e->maps) > EAGER_MAPPINGS_MAX ||
		    entry_publish(p, e, now_ns, &ignored) < 0)
			sampler_remove_process(p->sampler, e->info.pid);
	}
	p->dirty.len = 0;
}

static struct entry *entry_at(struct process_table *p, uint32_t pid, uint64_t time_ns)
{
	struct entry *e = entry_get(p, pid);

	while (e && e->older && e->info.start_ns > time_ns)
		e = e->older;
	return e;
}

const struct process *process_table_find(struct process_table *p, uint32_t pid, uint64_t time_ns)
{
	struct entry *e = entry_at(p, pid, time_ns);

	return e ? &e->info : NULL;
}

int process_table_mappings(struct process_table *p, uint32_t pid, uint64_t time_ns, uint64_t now_ns,
			   struct unwind_process *out)
{
	struct entry *e = entry_at(p, pid, time_ns);
	int r = 0;

	if (!e)
		e = entry_from_proc(p, pid);
	if (!e)
		return -ENOMEM;
	if (e->is_stale)
		r = entry_reread(p, e, now_ns);
	if (r < 0 && !mapping_set_count(e->maps))
		return r;
	entry_attach(p, e, now_ns);
	return entry_publish(p, e, now_ns, out);
}

const char *process_table_jitdump(const struct process_table *p, uint32_t pid)
{
	const struct entry *e = entry_get(p, pid);

	return e ? e->jitdump : NULL;
}

void process_table_ignore_unmapped(struct process_table *p, uint32_t pid)
{
	struct entry *e = entry_get(p, pid);
	struct unwind_process ignored;

	if (!e || e->info.end_ns || e->dirty)
		return;
	e->unmapped_is_final = true;
	(void)entry_publish(p, e, clock_monotonic_ns(), &ignored);
}

/* ---- setup and upkeep ----------------------------------------------------- */

int process_table_follow(struct process_table *p, uint32_t pid)
{
	p->follow_only = true;
	if (!entry_get(p, pid) && !entry_from_proc(p, pid))
		return -ENOMEM;
	return sampler_add_target(p->sampler, pid);
}

static int on_pid(void *ctx, int pid)
{
	struct process_table *p = ctx;

	if (!entry_get(p, (uint32_t)pid) && !entry_from_proc(p, (uint32_t)pid))
		return -ENOMEM;
	return 0;
}

int process_table_scan(struct process_table *p)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct unwind_process ignored;
	int r = p->follow_only ? 0 : proc_each_pid(on_pid, p);

	for (size_t i = 0; i < p->slots.len; i++) {
		struct entry *e = p->slots.data[i];

		if (!e || !e->is_stale || e->info.end_ns)
			continue;
		if (entry_publish(p, e, now_ns, &ignored) == -ESRCH)
			entry_end(p, e, now_ns);
	}
	return r;
}

void process_table_mark_files(struct process_table *p)
{
	for (size_t i = 0; i < p->slots.len; i++) {
		for (const struct entry *e = p->slots.data[i]; e; e = e->older) {
			file_table_mark(p->files, e->info.exe);
			for (uint32_t k = 0; k < mapping_set_count(e->maps); k++)
				file_table_mark(p->files, mapping_set_get(e->maps, k)->file);
		}
	}
}

static void slot_free(struct process_table *p, uint32_t pid)
{
	struct pid_key key = { p, pid };
	uint32_t slot;

	if (!index_find(&p->by_pid, hash_u64(pid), same_pid, &key, &slot))
		return;
	index_remove(&p->by_pid, hash_u64(pid), slot);
	p->slots.data[slot] = NULL;
	(void)vec_push(&p->free_slots, slot);
}

static bool ended_long_ago(const struct entry *e, uint64_t now_ns)
{
	return e->info.end_ns && e->info.end_ns + KEEP_ENDED_NS < now_ns;
}

void process_table_reap(struct process_table *p, uint64_t now_ns)
{
	for (size_t i = 0; i < p->slots.len; i++) {
		struct entry *e = p->slots.data[i], **link;

		if (!e)
			continue;
		link = &e->older;
		while (*link) {
			struct entry *old = *link;

			if (ended_long_ago(old, now_ns)) {
				*link = old->older;
				entry_free(p, old, now_ns);
			} else {
				link = &old->older;
			}
		}
		if (!e->older && ended_long_ago(e, now_ns)) {
			slot_free(p, e->info.pid);
			entry_free(p, e, now_ns);
		}
	}
}

void process_table_stats(const struct process_table *p, struct process_table_stats *out)
{
	*out = p->stats;
}
