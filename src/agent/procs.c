/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process is known once its mappings are: because its exec was seen, because
 * its parent was known when it forked, or because /proc was read. Everything
 * uncertain (lost side-band records, a mapping event of a process never seen)
 * ends in reading /proc again, which is the truth.
 *
 * Each program that runs under a pid is a struct entry of its own; older ones
 * hang behind the newest until their samples have surely arrived.
 */
#include "agent/procs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/files.h"
#include "agent/machines.h"
#include "agent/mapset.h"
#include "agent/sampler.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/vec.h"
#include "proc/maps.h"
#include "proc/stat.h"
#include "symbol/jitdump.h"

#define KEEP_ENDED_NS 3000000000ULL

enum {
	EAGER_MAPPINGS_MAX = 1024, /* larger sets are published when a sample wants them */
	REREAD_COST_SHARE = 20,    /* reading a process again may take 1/20 of the time */
};

struct entry {
	struct process info; /* first: what callers see */
	struct mapset *maps;
	char *jitdump; /* NULL: none was seen */
	struct entry *older;
	uint32_t n_threads; /* besides the first; meaningful only if all_threads_seen */
	bool all_threads_seen;
	bool first_lives; /* its first thread was there when last looked at, and did not end since
			   */
	bool reread;      /* /proc must be read before the mappings are right */
	bool dirty;       /* in the list of changes */
	bool unmapped_is_final; /* struct unwind_process */
	struct machines machines;
	uint64_t next_reread_ns;
};

struct procs {
	struct files *files;
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
	struct index by_pid; /* -> slot */
	struct {
		VEC(uint32_t);
	} dirty; /* pids */
	struct procs_stats stats;
};

struct pid_key {
	const struct procs *p;
	uint32_t pid;
};

static bool same_pid(const void *ctx, uint32_t slot)
{
	const struct pid_key *k = ctx;

	return k->p->slots.data[slot]->info.pid == k->pid;
}

static struct entry *entry_get(const struct procs *p, uint32_t pid)
{
	struct pid_key key = { p, pid };
	uint32_t slot;

	return index_find(&p->by_pid, hash_u64(pid), same_pid, &key, &slot) ? p->slots.data[slot]
									    : NULL;
}

int procs_new(struct procs **out, struct files *files, struct unwind_tables *tables,
	      struct sampler *sampler)
{
	struct procs *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->files = files;
	p->tables = tables;
	p->sampler = sampler;
	*out = p;
	return 0;
}

void procs_set_langs(struct procs *p, struct langs *langs)
{
	p->langs = langs;
}

static void entry_free(struct procs *p, struct entry *e, uint64_t now_ns)
{
	mapset_unref(e->maps, p->tables, now_ns);
	free(e->jitdump);
	free(e);
}

void procs_free(struct procs *p)
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

/* A slot for a pid that has none. */
static int slot_add(struct procs *p, struct entry *e)
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

static void entry_end(struct procs *p, struct entry *e, uint64_t time_ns)
{
	if (e->info.end_ns)
		return;
	e->info.end_ns = time_ns;
	p->stats.n_running--;
}

/* A new program under @pid; what ran there before is kept behind it. NULL: no memory. */
static struct entry *entry_add(struct procs *p, uint32_t pid, uint64_t start_ns)
{
	struct entry *e = calloc(1, sizeof(*e)), *old = entry_get(p, pid);
	struct pid_key key = { p, pid };
	uint32_t slot;

	if (!e)
		return NULL;
	e->info.pid = pid;
	e->info.start_ns = start_ns;
	e->maps = mapset_new();
	if (!e->maps) {
		free(e);
		return NULL;
	}
	if (old) {
		e->info.ppid = old->info.end_ns ? 0 : old->info.ppid; /* an exec keeps it */
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

/* Zeroed to its end: threads are told apart by their bytes. */
static void set_comm(struct entry *e, const char *comm)
{
	memset(e->info.comm, 0, sizeof(e->info.comm));
	snprintf(e->info.comm, sizeof(e->info.comm), "%s", comm);
}

static void mark_dirty(struct procs *p, struct entry *e)
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

static void entry_map(struct procs *p, struct entry *e, const struct file_ref *ref,
		      uint64_t file_off)
{
	struct unwind_mapping map = { .start = ref->start,
				      .end = ref->end,
				      .file_off = file_off,
				      .kind = MAPPING_ANONYMOUS };

	if (!e->jitdump && jitdump_is_path(ref->path))
		e->jitdump = strdup(ref->path);
	if (!strcmp(ref->path, "[vdso]")) {
		map.file = files_vdso(p->files);
		map.file_off = 0;
	} else if (is_file_name(ref->path)) {
		map.file = files_find(p->files, ref);
	}
	if (map.file)
		map.kind = MAPPING_FILE;
	else
		map.file_off = 0;
	if (map.file && !e->info.exe && is_file_name(ref->path))
		e->info.exe = map.file;
	(void)mapset_add(e->maps, &map);
}

struct reread_job {
	struct procs *p;
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

/* Replace what is known of the process by what /proc says. -ESRCH: it is gone. */
static int entry_reread(struct procs *p, struct entry *e, uint64_t now_ns)
{
	struct reread_job job = { p, e };
	struct mapset *own;
	uint64_t begun_ns = clock_monotonic_ns(), ended_ns;
	int r;

	if (e->next_reread_ns > now_ns)
		return 0;
	own = mapset_own(e->maps, p->tables, now_ns);
	if (!own)
		return -ENOMEM;
	e->maps = own;
	machines_detach(&e->machines);
	mapset_clear(own);
	r = proc_maps_read((int)e->info.pid, PROC_MAPS_EXEC, on_proc_map, &job, NULL);
	e->reread = false;
	ended_ns = clock_monotonic_ns();
	e->next_reread_ns = ended_ns + (ended_ns - begun_ns) * REREAD_COST_SHARE;
	return r;
}

static struct entry *entry_from_proc(struct procs *p, uint32_t pid)
{
	struct entry *e = entry_add(p, pid, 0);
	char comm[16];

	if (!e)
		return NULL;
	proc_comm((int)pid, comm);
	set_comm(e, comm);
	e->reread = true;
	mark_dirty(p, e);
	return e;
}

/* ---- events --------------------------------------------------------------- */

static void on_map(struct procs *p, const struct sideband_event *ev)
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
	struct mapset *own;

	if (!e && !p->follow_only)
		e = entry_from_proc(p, ev->pid);
	if (!e || e->reread)
		return;
	own = mapset_own(e->maps, p->tables, ev->time_ns);
	if (!own)
		return;
	e->maps = own;
	entry_map(p, e, &ref, ev->file_off);
	mark_dirty(p, e);
}

static void on_exec(struct procs *p, const struct sideband_event *ev)
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

static void on_fork(struct procs *p, const struct sideband_event *ev)
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
		e->reread = true;
		return;
	}
	memcpy(e->info.comm, parent->info.comm, sizeof(e->info.comm));
	e->info.exe = parent->info.exe;
	e->machines = parent->machines;
	e->reread = parent->reread;
	mapset_unref(e->maps, p->tables, ev->time_ns);
	e->maps = mapset_ref(parent->maps);
}

/* Threads may outlive the first one: the process ends with its last. */
static bool lives_on(struct entry *e, const struct sideband_event *ev)
{
	bool first = ev->pid == ev->tid;

	if (!first && e->n_threads)
		e->n_threads--;
	if (e->all_threads_seen)
		return e->n_threads || !first;
	if (!first && e->first_lives)
		return true;
	e->first_lives = !first && proc_first_thread_lives((int)ev->pid);
	return e->first_lives || proc_is_alive((int)ev->pid);
}

static void on_exit_event(struct procs *p, const struct sideband_event *ev)
{
	struct entry *e = entry_get(p, ev->pid);

	if (!e || lives_on(e, ev))
		return;
	entry_end(p, e, ev->time_ns);
	sampler_end_process(p->sampler, ev->pid);
}

void procs_reread_all(struct procs *p)
{
	for (size_t i = 0; i < p->slots.len; i++) {
		struct entry *e = p->slots.data[i];

		if (!e || e->info.end_ns)
			continue;
		e->reread = true;
		e->all_threads_seen = false;
		mark_dirty(p, e);
	}
}

void procs_handle(struct procs *p, const struct sideband_event *ev)
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
		procs_reread_all(p);
		break;
	case SIDEBAND_COMM:
		e = entry_get(p, ev->pid);
		if (e && ev->pid == ev->tid)
			set_comm(e, ev->name);
		break;
	}
}

/* ---- publishing ----------------------------------------------------------- */

static void entry_attach(struct procs *p, struct entry *e, uint64_t now_ns)
{
	const struct machines_of of = { p->langs, p->files, p->tables, &e->maps, e->info.pid };

	if (!e->info.end_ns)
		machines_attach(&e->machines, &of, now_ns);
}

uint64_t procs_vm_bias(const struct procs *p, uint32_t pid, uint32_t vm)
{
	const struct entry *e = entry_get(p, pid);

	return e ? machines_bias(p->files, e->maps, vm) : 0;
}

static int entry_publish(struct procs *p, struct entry *e, uint64_t now_ns,
			 struct unwind_process *out)
{
	int r = 0;

	if (e->reread)
		r = entry_reread(p, e, now_ns);
	if (r < 0 && !mapset_count(e->maps))
		return r;
	r = mapset_publish(e->maps, p->tables, now_ns, out);
	if (r < 0)
		return r;
	out->unmapped_is_final = e->unmapped_is_final;
	machines_put(&e->machines, p->files, e->maps, out);
	/* an ended program must not answer for its successor's pid */
	if (!e->info.end_ns)
		r = sampler_put_process(p->sampler, e->info.pid, out);
	return r;
}

void procs_publish(struct procs *p, uint64_t now_ns)
{
	struct unwind_process ignored;

	for (size_t i = 0; i < p->dirty.len; i++) {
		struct entry *e = entry_get(p, p->dirty.data[i]);

		if (!e)
			continue;
		e->dirty = false;
		if (e->info.end_ns)
			continue;
		/* the sooner its code is known, the fewer samples go up raw */
		if (!e->reread)
			entry_attach(p, e, now_ns);
		if (e->reread || mapset_count(e->maps) > EAGER_MAPPINGS_MAX ||
		    entry_publish(p, e, now_ns, &ignored) < 0)
			sampler_remove_process(p->sampler, e->info.pid);
	}
	p->dirty.len = 0;
}

static struct entry *entry_at(struct procs *p, uint32_t pid, uint64_t time_ns)
{
	struct entry *e = entry_get(p, pid);

	while (e && e->older && e->info.start_ns > time_ns)
		e = e->older;
	return e;
}

const struct process *procs_find(struct procs *p, uint32_t pid, uint64_t time_ns)
{
	struct entry *e = entry_at(p, pid, time_ns);

	return e ? &e->info : NULL;
}

int procs_mappings(struct procs *p, uint32_t pid, uint64_t time_ns, uint64_t now_ns,
		   struct unwind_process *out)
{
	struct entry *e = entry_at(p, pid, time_ns);

	if (!e)
		e = entry_from_proc(p, pid);
	if (!e)
		return -ENOMEM;
	if (e->reread)
		(void)entry_reread(p, e, now_ns);
	entry_attach(p, e, now_ns);
	return entry_publish(p, e, now_ns, out);
}

const char *procs_jitdump(const struct procs *p, uint32_t pid)
{
	const struct entry *e = entry_get(p, pid);

	return e ? e->jitdump : NULL;
}

void procs_unmapped_is_final(struct procs *p, uint32_t pid)
{
	struct entry *e = entry_get(p, pid);
	struct unwind_process ignored;

	if (!e || e->info.end_ns || e->dirty)
		return;
	e->unmapped_is_final = true;
	(void)entry_publish(p, e, clock_monotonic_ns(), &ignored);
}

/* ---- set-up and upkeep ---------------------------------------------------- */

int procs_follow(struct procs *p, uint32_t pid)
{
	p->follow_only = true;
	if (!entry_get(p, pid) && !entry_from_proc(p, pid))
		return -ENOMEM;
	return sampler_add_target(p->sampler, pid);
}

static int on_pid(void *ctx, int pid)
{
	struct procs *p = ctx;

	if (!entry_get(p, (uint32_t)pid) && !entry_from_proc(p, (uint32_t)pid))
		return -ENOMEM;
	return 0;
}

int procs_scan(struct procs *p)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct unwind_process ignored;
	int r = p->follow_only ? 0 : proc_each_pid(on_pid, p);

	for (size_t i = 0; i < p->slots.len; i++) {
		struct entry *e = p->slots.data[i];

		if (!e || !e->reread || e->info.end_ns)
			continue;
		if (entry_publish(p, e, now_ns, &ignored) == -ESRCH)
			entry_end(p, e, now_ns);
	}
	return r;
}

void procs_mark_files(struct procs *p)
{
	for (size_t i = 0; i < p->slots.len; i++) {
		for (const struct entry *e = p->slots.data[i]; e; e = e->older) {
			files_mark(p->files, e->info.exe);
			for (uint32_t k = 0; k < mapset_count(e->maps); k++)
				files_mark(p->files, mapset_get(e->maps, k)->file);
		}
	}
}

static void slot_free(struct procs *p, uint32_t pid)
{
	struct pid_key key = { p, pid };
	uint32_t slot;

	if (!index_find(&p->by_pid, hash_u64(pid), same_pid, &key, &slot))
		return;
	index_remove(&p->by_pid, hash_u64(pid), slot);
	p->slots.data[slot] = NULL;
	(void)vec_push(&p->free_slots, slot);
}

static bool long_ended(const struct entry *e, uint64_t now_ns)
{
	return e->info.end_ns && e->info.end_ns + KEEP_ENDED_NS < now_ns;
}

void procs_reap(struct procs *p, uint64_t now_ns)
{
	for (size_t i = 0; i < p->slots.len; i++) {
		struct entry *e = p->slots.data[i], **link;

		if (!e)
			continue;
		link = &e->older;
		while (*link) {
			struct entry *old = *link;

			if (long_ended(old, now_ns)) {
				*link = old->older;
				entry_free(p, old, now_ns);
			} else {
				link = &old->older;
			}
		}
		if (!e->older && long_ended(e, now_ns)) {
			slot_free(p, e->info.pid);
			entry_free(p, e, now_ns);
		}
	}
}

void procs_stats(const struct procs *p, struct procs_stats *out)
{
	*out = p->stats;
}
