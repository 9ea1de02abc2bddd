/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process is known once its mappings are: because its exec was seen, because its parent was
 * known when it forked, or because /proc was read. Everything uncertain (lost side-band
 * records, a mapping event of an unknown process) is resolved by reading /proc again, which
 * is authoritative.
 *
 * Each program that runs under a pid has a struct entry of its own. Entries of earlier
 * programs are chained behind the newest one until all of their samples have surely arrived.
 *
 * /proc shows the program that runs while it is read, which may be a later one than was expected.
 * The fork or exec event of a program is written before it shows up in /proc: so events are applied
 * after the reading, and if the program has ended by then, what was read is dropped.
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
	SWEEP_COST_SHARE = 20,     /* the same for a sweep */
};

#define SWEEP_NS 10000000000ULL /* shortest interval of sweeps while no event was lost */

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
	bool is_unconfirmed;    /* they were just read, and may be of a later program */
	bool is_named;          /* its name need not be read from /proc */
	bool is_swept_away;     /* a sweep did not find it, which may have been an error */
	uint32_t sweep;         /* number of the last sweep that found it */
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
	} dirty;                 /* pids of changed processes */
	void (*sync)(void *ctx); /* may be NULL */
	void *sync_ctx;
	uint32_t n_sweeps;
	uint64_t next_sweep_ns;
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

void process_table_set_sync(struct process_table *p, void (*sync)(void *ctx), void *ctx)
{
	p->sync = sync;
	p->sync_ctx = ctx;
}

static void apply_events(struct process_table *p)
{
	if (p->sync)
		p->sync(p->sync_ctx);
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
	e->is_named = true;
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
	uint32_t task; /* the thread whose /proc is read */
};

static int on_proc_map(void *ctx, const struct proc_map *m)
{
	struct reread_job *job = ctx;
	struct file_ref ref = {
		.pid = job->task,
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
 * Returns true if what was just read was still the program's. Processes that it forked meanwhile
 * would share what was read, so they are read on their own.
 */
static bool entry_confirm(struct process_table *p, struct entry *e)
{
	e->is_unconfirmed = true;
	apply_events(p);
	e->is_unconfirmed = false;
	return !e->info.end_ns;
}

/* Reads the mappings from /proc, through another thread if the main thread has ended. */
static int read_maps(struct process_table *p, struct entry *e)
{
	struct reread_job job = { p, e, e->info.pid };
	int r = proc_maps_read((int)job.task, PROC_MAPS_EXEC, on_proc_map, &job, NULL), task;

	if (r != -ESRCH)
		return r;
	task = proc_living_thread((int)e->info.pid);
	if (task < 0 || task == (int)e->info.pid)
		return -ESRCH;
	job.task = (uint32_t)task;
	return proc_maps_read(task, PROC_MAPS_EXEC, on_proc_map, &job, NULL);
}

/*
 * Replaces the known mappings with those in /proc, unless the last reread was too recent.
 * Returns 0; -ESRCH if the program is gone, or -ENOMEM: then the known ones stay.
 */
static int entry_reread(struct process_table *p, struct entry *e, uint64_t now_ns)
{
	uint64_t started_ns = clock_monotonic_ns(), ended_ns;
	struct mapping_set *old = e->maps, *fresh;
	int r;

	if (e->info.end_ns)
		return -ESRCH;
	if (e->next_reread_ns > now_ns)
		return 0;
	fresh = mapping_set_new();
	if (!fresh)
		return -ENOMEM;
	e->maps = fresh;
	r = read_maps(p, e);
	e->is_stale = false;
	ended_ns = clock_monotonic_ns();
	e->next_reread_ns = ended_ns + (ended_ns - started_ns) * REREAD_COST_SHARE;
	if (r == 0 && !entry_confirm(p, e))
		r = -ESRCH;
	if (r == 0)
		runtimes_detach(&e->runtimes);
	mapping_set_unref(r == 0 ? old : e->maps, p->tables, now_ns);
	if (r < 0)
		e->maps = old;
	return r;
}

/* Adds what runs as @pid now, without an event. Its name is read when it is needed. */
static struct entry *entry_from_proc(struct process_table *p, uint32_t pid, uint64_t start_ns)
{
	struct entry *e = entry_add(p, pid, start_ns);

	if (!e)
		return NULL;
	e->is_stale = true;
	mark_dirty(p, e);
	return e;
}

/* Reads the name of a program that has none; not while events are being applied. */
static void entry_read_name(struct process_table *p, struct entry *e)
{
	char comm[16];

	if (e->is_named || e->info.end_ns)
		return;
	e->is_named = true;
	proc_comm((int)e->info.pid, comm);
	apply_events(p);
	if (!e->info.end_ns && !e->info.comm[0])
		set_comm(e, comm);
}

/* ---- events --------------------------------------------------------------- */

/* True if the event is of an earlier program than the newest. Its CPU was slow to write it. */
static bool is_late(const struct entry *newest, const struct sideband_event *ev)
{
	return newest && newest->info.start_ns > ev->time_ns;
}

static void on_map(struct process_table *p, const struct sideband_event *ev)
{
	struct entry *e = entry_get(p, ev->pid);
	struct file_ref ref = {
		/* an ended main thread has no root directory any more */
		.pid = e && e->main_thread_ended ? ev->tid : ev->pid,
		.start = ev->start,
		.end = ev->start + ev->len,
		.dev_major = ev->dev_major,
		.dev_minor = ev->dev_minor,
		.inode = ev->inode,
		.path = ev->name,
	};
	struct mapping_set *own;

	if (!e && !p->follow_only)
		e = entry_from_proc(p, ev->pid, 0);
	if (!e || e->is_stale || is_late(e, ev))
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
	struct entry *e = entry_get(p, ev->pid);

	if (p->follow_only && !e)
		return;
	if (is_late(e, ev)) {
		/* a record was faster: it is about this exec, or an even later one */
		if (!e->is_named)
			set_comm(e, ev->name);
		return;
	}
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
	e = entry_get(p, ev->pid);
	if (is_late(e, ev)) {
		if (!e->info.ppid)
			e->info.ppid = ev->ppid;
		return;
	}
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
	e->is_named = parent->info.comm[0];
	e->info.exe = parent->info.exe;
	e->runtimes = parent->runtimes;
	e->is_stale = parent->is_stale || parent->is_unconfirmed;
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

	if (!e || is_late(e, ev) || continues_after(e, ev))
		return;
	entry_end(p, e, ev->time_ns);
	sampler_end_process(p->sampler, ev->pid, e->info.id.start_ns);
}

void process_table_reread_all(struct process_table *p)
{
	p->next_sweep_ns = 0;
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
	case SIDEBAND_KERNEL:
		break;
	case SIDEBAND_COMM:
		e = entry_get(p, ev->pid);
		if (e && ev->pid == ev->tid && !is_late(e, ev))
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

/* Callers see only the first member of an entry. */
static struct entry *entry_of(const struct process *program)
{
	return (struct entry *)(uintptr_t)program;
}

uint64_t process_table_vm_bias(const struct process_table *p, const struct process *program,
			       uint32_t vm)
{
	return program ? runtimes_bias(p->files, entry_of(program)->maps, vm) : 0;
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
	out->program = e->info.id;
	/* the pid may belong to a successor already, whose entry must stay */
	if (!e->info.end_ns && e->info.id.start_ns)
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
		if (e->info.end_ns || !e->info.id.start_ns)
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

/* ---- identity ------------------------------------------------------------- */

static bool is_same_id(const struct program_id *a, const struct program_id *b)
{
	return a->start_ns == b->start_ns && a->exec_id == b->exec_id;
}

static bool is_newer_id(const struct program_id *a, const struct program_id *b)
{
	if (a->start_ns != b->start_ns)
		return a->start_ns > b->start_ns;
	return (int32_t)(a->exec_id - b->exec_id) > 0;
}

/* Adds a program whose fork or exec was not in the side-band. */
static struct entry *entry_add_missed(struct process_table *p, const struct entry *old,
				      uint64_t time_ns, const struct program_id *id)
{
	uint32_t ppid = old->info.id.start_ns == id->start_ns ? old->info.ppid : 0;
	struct entry *e = entry_from_proc(p, old->info.pid, time_ns);

	if (!e)
		return NULL;
	e->info.id = *id;
	e->info.ppid = ppid;
	p->stats.n_corrected++;
	return e;
}

/* A record of a program that a sweep did not find. */
static void entry_revive(struct process_table *p, struct entry *e)
{
	e->info.end_ns = 0;
	e->is_swept_away = false;
	e->is_stale = true;
	e->all_threads_seen = false;
	p->stats.n_running++;
	mark_dirty(p, e);
}

/* Finds the program with an identity that no entry has, but that is certainly right. */
static struct entry *entry_learn(struct process_table *p, uint32_t pid, uint64_t time_ns,
				 const struct program_id *id)
{
	struct entry *newest = entry_get(p, pid), *e = entry_at(p, pid, time_ns);

	if (!e) {
		e = entry_from_proc(p, pid, time_ns);
		if (e)
			e->info.id = *id;
		return e;
	}
	if (e->info.start_ns > time_ns)
		return NULL;
	if (!e->info.id.start_ns) {
		e->info.id = *id;
		mark_dirty(p, e);
		return e;
	}
	return e == newest && is_newer_id(id, &e->info.id) ? entry_add_missed(p, e, time_ns, id)
							   : NULL;
}

/* A record of the middle of an exec is the new program's if its identity follows the old one's. */
static struct entry *entry_in_exec(struct process_table *p, uint32_t pid, uint64_t time_ns,
				   const struct program_id *id)
{
	struct entry *e = entry_at(p, pid, time_ns);
	const struct entry *old = e ? e->older : NULL;

	if (!old || e->info.id.start_ns || old->info.id.start_ns != id->start_ns)
		return NULL;
	return old->info.id.exec_id + 1 == id->exec_id ? e : NULL;
}

const struct process *process_table_identify(struct process_table *p, uint32_t pid,
					     uint64_t time_ns, const struct program_id *id,
					     bool is_sure)
{
	struct entry *e = entry_get(p, pid);

	if (!id->start_ns)
		return process_table_find(p, pid, time_ns);
	while (e && !is_same_id(&e->info.id, id))
		e = e->older;
	if (!e)
		e = is_sure ? entry_learn(p, pid, time_ns, id) : entry_in_exec(p, pid, time_ns, id);
	if (!e)
		return NULL;
	if (e->is_swept_away)
		entry_revive(p, e);
	entry_read_name(p, e);
	return &e->info;
}

/* The program that began at @start_ns, or the last one of its process if @any_program. */
static const struct entry *entry_from(const struct process_table *p, uint32_t pid,
				      uint64_t start_ns, bool any_program)
{
	const struct entry *newest = entry_get(p, pid), *e = newest;

	while (e && e->info.start_ns != start_ns)
		e = e->older;
	if (!e || !any_program || !e->info.id.start_ns)
		return e;
	while (newest->info.id.start_ns != e->info.id.start_ns)
		newest = newest->older;
	return newest;
}

bool process_table_ran_until(const struct process_table *p, uint32_t pid, uint64_t start_ns,
			     uint64_t time_ns, bool any_program)
{
	const struct entry *e = entry_from(p, pid, start_ns, any_program);

	return e && (!e->info.end_ns || e->info.end_ns > time_ns);
}

bool process_table_still_runs(struct process_table *p, uint32_t pid, uint64_t start_ns)
{
	const struct entry *e;

	apply_events(p);
	e = entry_from(p, pid, start_ns, false);
	return e && !e->info.end_ns;
}

int process_table_mappings(struct process_table *p, const struct process *program, uint64_t now_ns,
			   struct unwind_process *out)
{
	struct entry *e = entry_of(program);
	int r = 0;

	if (!e)
		return -ESRCH;
	if (e->is_stale)
		r = entry_reread(p, e, now_ns);
	if (r < 0 && !mapping_set_count(e->maps))
		return r;
	entry_attach(p, e, now_ns);
	return entry_publish(p, e, now_ns, out);
}

const char *process_table_jitdump(const struct process_table *p, uint32_t pid, uint64_t start_ns)
{
	const struct entry *e = entry_from(p, pid, start_ns, false);

	return e ? e->jitdump : NULL;
}

bool process_table_ignore_unmapped(struct process_table *p, const struct process *program,
				   uint64_t now_ns)
{
	struct entry *e = entry_of(program);
	struct unwind_process ignored;

	if (!e || e->info.end_ns || e->dirty)
		return false;
	if (e->next_reread_ns <= now_ns && entry_reread(p, e, now_ns) == 0)
		return true;
	e->unmapped_is_final = true;
	(void)entry_publish(p, e, clock_monotonic_ns(), &ignored);
	return false;
}

/* ---- the sweep ------------------------------------------------------------ */

struct sweep {
	VEC(struct record_header);
};

static void on_program(void *ctx, const void *record, size_t len)
{
	struct sweep *all = ctx;

	(void)vec_push(all, *(const struct record_header *)record);
}

/* Compares a process that exists with what is known. @since_ns: the begin of the sweep. */
static void sweep_found(struct process_table *p, const struct record_header *h, uint64_t since_ns)
{
	struct entry *e = entry_get(p, h->pid);

	if (!e)
		return;
	e->sweep = p->n_sweeps;
	if (e->info.start_ns >= since_ns || e->info.end_ns || h->flags & RECORD_IN_EXEC)
		return;
	if (!e->info.id.start_ns) {
		e->info.id = h->program;
		mark_dirty(p, e);
	} else if (is_newer_id(&h->program, &e->info.id)) {
		e = entry_add_missed(p, e, h->time_ns, &h->program);
		if (e)
			e->sweep = p->n_sweeps;
	}
}

/* Ends what was not found. The event of its end may still come, or it was lost. */
static void sweep_missing(struct process_table *p, uint64_t since_ns)
{
	for (size_t i = 0; i < p->slots.len; i++) {
		struct entry *e = p->slots.data[i];

		if (!e || e->info.end_ns || e->sweep == p->n_sweeps || e->info.start_ns >= since_ns)
			continue;
		entry_end(p, e, since_ns);
		e->is_swept_away = true;
		p->stats.n_corrected++;
		sampler_end_process(p->sampler, e->info.pid, e->info.id.start_ns);
	}
}

void process_table_sweep(struct process_table *p)
{
	uint64_t since_ns = clock_monotonic_ns(), cost_ns;
	struct sweep all = { 0 };

	if (since_ns < p->next_sweep_ns)
		return;
	p->n_sweeps++;
	if (sampler_each_program(p->sampler, on_program, &all) == 0 && all.len) {
		/* events before what the sweep has seen come first */
		apply_events(p);
		for (size_t i = 0; i < all.len; i++)
			sweep_found(p, &all.data[i], since_ns);
		sweep_missing(p, since_ns);
	}
	vec_fini(&all);
	cost_ns = (clock_monotonic_ns() - since_ns) * SWEEP_COST_SHARE;
	p->next_sweep_ns = since_ns + (cost_ns > SWEEP_NS ? cost_ns : SWEEP_NS);
}

/* ---- setup and upkeep ----------------------------------------------------- */

int process_table_follow(struct process_table *p, uint32_t pid)
{
	p->follow_only = true;
	if (!entry_get(p, pid) && !entry_from_proc(p, pid, 0))
		return -ENOMEM;
	return sampler_add_target(p->sampler, pid);
}

static int on_pid(void *ctx, int pid)
{
	struct process_table *p = ctx;

	if (!entry_get(p, (uint32_t)pid) && !entry_from_proc(p, (uint32_t)pid, 0))
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
