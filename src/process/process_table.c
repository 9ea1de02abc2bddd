/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process is known once its mappings are: because its exec was seen, because its parent was
 * known when it forked, or because /proc was read. Everything uncertain (lost side-band
 * records, a mapping event of an unknown process) is resolved by reading /proc again, which
 * is authoritative.
 *
 * This module applies events and answers queries. The programs themselves are in programs.c, their
 * mappings in program_maps.c, and their identities in program_identity.c.
 */
#include "process/process_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "proc/stat.h"
#include "process/file_table.h"
#include "process/mapping_set.h"
#include "process/program_identity.h"
#include "process/program_maps.h"
#include "process/program_selection.h"
#include "process/programs.h"
#include "process/replaced.h"
#include "process/runtimes.h"
#include "sampler/sampler.h"

/* The default limit of all mappings together, which has room for two million. */
enum { MAPPINGS_BYTES = 64 << 20 };

struct process_table {
	struct programs programs;
	bool follow_only;
};

int process_table_new(struct process_table **out, struct file_table *files,
		      struct unwind_tables *tables, struct sampler *sampler)
{
	struct process_table *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->programs.files = files;
	p->programs.tables = tables;
	p->programs.sampler = sampler;
	p->programs.mappings.max_bytes = MAPPINGS_BYTES;
	*out = p;
	return 0;
}

void process_table_set_mappings_max(struct process_table *p, size_t bytes)
{
	p->programs.mappings.max_bytes = bytes;
}

void process_table_set_langs(struct process_table *p, struct langs *langs)
{
	p->programs.langs = langs;
}

void process_table_set_sync(struct process_table *p, void (*sync)(void *ctx), void *ctx)
{
	p->programs.sync = sync;
	p->programs.sync_ctx = ctx;
}

void process_table_free(struct process_table *p)
{
	if (!p)
		return;
	programs_fini(&p->programs);
	free(p);
}

/* ---- events --------------------------------------------------------------- */

/* True if the event is older than the newest program: it was in the ring of a CPU that was slow. */
static bool is_late(const struct program *newest, const struct sideband_event *ev)
{
	return newest && newest->info.start_ns > ev->time_ns;
}

static void on_map(struct process_table *p, const struct sideband_event *ev)
{
	struct program *e = programs_get(&p->programs, ev->pid);
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
		e = programs_add_stale(&p->programs, ev->pid, 0);
	if (!e || e->is_stale || is_late(e, ev))
		return;
	own = mapping_set_own(e->maps, p->programs.tables, ev->time_ns);
	if (!own)
		return;
	e->maps = own;
	programs_map(&p->programs, e, &ref, ev->file_off, ev->time_ns);
	programs_mark_dirty(&p->programs, e);
}

static void on_exec(struct process_table *p, const struct sideband_event *ev)
{
	struct program *e = programs_get(&p->programs, ev->pid);

	if (p->follow_only && !e)
		return;
	if (is_late(e, ev)) {
		/* a record of this exec, or of an even later one, arrived before this event */
		if (!e->is_named)
			program_set_comm(e, ev->name);
		return;
	}
	e = programs_add(&p->programs, ev->pid, ev->time_ns);
	if (!e)
		return;
	program_set_comm(e, ev->name);
	e->all_threads_seen = true;
	programs_mark_dirty(&p->programs, e);
}

static void on_fork(struct process_table *p, const struct sideband_event *ev)
{
	struct program *parent = programs_get(&p->programs, ev->ppid), *e;

	if (ev->pid != ev->tid) { /* a thread */
		e = programs_get(&p->programs, ev->pid);
		if (e)
			e->n_threads++;
		return;
	}
	if (p->follow_only && !parent)
		return;
	e = programs_get(&p->programs, ev->pid);
	if (is_late(e, ev)) {
		if (!e->info.ppid)
			e->info.ppid = ev->ppid;
		return;
	}
	e = programs_add(&p->programs, ev->pid, ev->time_ns);
	if (!e)
		return;
	e->info.ppid = ev->ppid;
	e->all_threads_seen = true;
	programs_mark_dirty(&p->programs, e);
	if (!parent) {
		e->is_stale = true;
		return;
	}
	e->selection = parent->selection;
	memcpy(e->info.comm, parent->info.comm, sizeof(e->info.comm));
	e->is_named = parent->info.comm[0];
	e->info.exe = parent->info.exe;
	e->exe = parent->exe;
	e->runtimes = parent->runtimes;
	e->is_stale = parent->is_stale || parent->is_unconfirmed;
	mapping_set_unref(e->maps, p->programs.tables, ev->time_ns);
	e->has_unread = parent->has_unread;
	e->maps = mapping_set_ref(parent->maps);
}

/*
 * Returns true if the process continues after the exit of this thread. Other threads may
 * outlive the main thread; the process ends with its last thread. Threads are counted if all
 * of them were seen to start; otherwise /proc decides.
 */
static bool continues_after(struct program *e, const struct sideband_event *ev)
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
	struct program *e = programs_get(&p->programs, ev->pid);

	if (!e || is_late(e, ev) || continues_after(e, ev))
		return;
	programs_end(&p->programs, e, ev->time_ns);
	sampler_end_process(p->programs.sampler, ev->pid, e->info.id.start_ns);
}

void process_table_reread_all(struct process_table *p)
{
	p->programs.next_sweep_ns = 0;
	for (size_t i = 0; i < p->programs.slots.len; i++) {
		struct program *e = p->programs.slots.data[i];

		if (!e || e->info.end_ns)
			continue;
		e->is_stale = true;
		e->all_threads_seen = false;
		programs_mark_dirty(&p->programs, e);
	}
}

bool process_table_reread_unread(struct process_table *p)
{
	bool any = false;

	for (size_t i = 0; i < p->programs.slots.len; i++) {
		struct program *e = p->programs.slots.data[i];

		if (!e || e->info.end_ns || !e->has_unread)
			continue;
		e->is_stale = any = true;
		programs_mark_dirty(&p->programs, e);
	}
	return any;
}

void process_table_handle(struct process_table *p, const struct sideband_event *ev)
{
	struct program *e;

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
		p->programs.stats.n_sideband_lost += ev->n_lost;
		process_table_reread_all(p);
		break;
	case SIDEBAND_KERNEL:
		break;
	case SIDEBAND_COMM:
		e = programs_get(&p->programs, ev->pid);
		if (!e || ev->pid != ev->tid || is_late(e, ev))
			break;
		program_set_comm(e, ev->name);
		if (p->programs.selection.rules.by_comm)
			programs_mark_undecided(&p->programs, e);
		break;
	}
}

/* ---- queries -------------------------------------------------------------- */

/* Callers see only the first member of a program. */
static struct program *program_of(const struct process *program)
{
	return (struct program *)(uintptr_t)program;
}

uint64_t process_table_vm_bias(const struct process_table *p, const struct process *program,
			       uint32_t vm)
{
	return program ? runtimes_bias(p->programs.files, program_of(program)->maps, vm) : 0;
}

const struct process *process_table_find(struct process_table *p, uint32_t pid, uint64_t time_ns)
{
	struct program *e = programs_at(&p->programs, pid, time_ns);

	return e ? &e->info : NULL;
}

void process_table_count_recorded(struct process_table *p, const struct process *program)
{
	struct program *e = program ? program_of(program) : NULL;
	const struct program *old = e ? e->older : NULL;

	if (!e || e->has_records)
		return;
	e->has_records = true;
	if (!old || !old->has_records || old->info.id.start_ns != e->info.id.start_ns)
		p->programs.stats.n_recorded++;
}

const struct process *process_table_identify(struct process_table *p, uint32_t pid,
					     uint64_t time_ns, const struct program_id *id,
					     bool is_sure)
{
	struct program *e = programs_identify(&p->programs, pid, time_ns, id, is_sure);

	return e ? &e->info : NULL;
}

void process_table_set_rules(struct process_table *p, const struct process_rules *rules)
{
	program_selection_set(&p->programs, rules);
}

void process_table_select(struct process_table *p, uint64_t now_ns)
{
	program_selection_run(&p->programs, now_ns);
}

bool process_table_excludes(struct process_table *p, const struct process *program, uint32_t flag)
{
	const struct selection *s =
		program_selection_get(&p->programs, program ? program_of(program) : NULL);

	return s->flags & flag;
}

bool process_table_has_replaced(const struct process *program)
{
	return program && program_of(program)->replaced;
}

bool process_table_was_replaced(const struct process *program, uint32_t file, uint64_t time_ns)
{
	return program && replaced_has(program_of(program)->replaced, file, time_ns);
}

int process_table_mappings(struct process_table *p, const struct process *program, uint64_t now_ns,
			   struct unwind_process *out)
{
	return programs_mappings(&p->programs, program_of(program), now_ns, out);
}

bool process_table_ignore_unmapped(struct process_table *p, const struct process *program,
				   uint64_t now_ns)
{
	return programs_ignore_unmapped(&p->programs, program_of(program), now_ns);
}

bool process_table_ran_until(const struct process_table *p, uint32_t pid, uint64_t start_ns,
			     uint64_t time_ns, bool any_program)
{
	const struct program *e = programs_from(&p->programs, pid, start_ns, any_program);

	return e && (!e->info.end_ns || e->info.end_ns > time_ns);
}

bool process_table_still_runs(struct process_table *p, uint32_t pid, uint64_t start_ns)
{
	const struct program *e;

	programs_apply_events(&p->programs);
	e = programs_from(&p->programs, pid, start_ns, false);
	return e && !e->info.end_ns;
}

const char *process_table_jitdump(const struct process_table *p, uint32_t pid, uint64_t start_ns)
{
	const struct program *e = programs_from(&p->programs, pid, start_ns, false);

	return e ? e->jitdump : NULL;
}

/* ---- setup and upkeep ----------------------------------------------------- */

int process_table_follow(struct process_table *p, uint32_t pid)
{
	p->follow_only = true;
	if (!programs_get(&p->programs, pid) && !programs_add_stale(&p->programs, pid, 0))
		return -ENOMEM;
	return sampler_add_target(p->programs.sampler, pid);
}

static int on_pid(void *ctx, int pid)
{
	struct process_table *p = ctx;

	if (!programs_get(&p->programs, (uint32_t)pid) &&
	    !programs_add_stale(&p->programs, (uint32_t)pid, 0))
		return -ENOMEM;
	return 0;
}

int process_table_scan(struct process_table *p)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct unwind_process ignored;
	int r = p->follow_only ? 0 : proc_each_pid(on_pid, p);

	for (size_t i = 0; i < p->programs.slots.len; i++) {
		struct program *e = p->programs.slots.data[i];

		if (!e || !e->is_stale || e->info.end_ns)
			continue;
		if (programs_publish_one(&p->programs, e, now_ns, &ignored) == -ESRCH)
			programs_end(&p->programs, e, now_ns);
	}
	return r;
}

void process_table_publish(struct process_table *p, uint64_t now_ns)
{
	programs_publish(&p->programs, now_ns);
}

void process_table_sweep(struct process_table *p)
{
	programs_sweep(&p->programs);
}

void process_table_mark_files(struct process_table *p)
{
	programs_mark_files(&p->programs);
}

void process_table_reap(struct process_table *p, uint64_t now_ns)
{
	programs_reap(&p->programs, now_ns);
}

bool process_table_runs(const struct process_table *p, uint32_t pid)
{
	const struct program *e = programs_get(&p->programs, pid);

	return e && !e->info.end_ns;
}

static void each_file(const struct program *e, process_table_file_fn fn, void *ctx)
{
	for (uint32_t i = 0; i < mapping_set_count(e->maps); i++) {
		const struct unwind_mapping *m = mapping_set_get(e->maps, i);

		if (m->kind == MAPPING_FILE && m->file != FILE_ID_NONE)
			fn(ctx, &e->info, m->file);
	}
}

void process_table_each_file(struct process_table *p, uint64_t now_ns, process_table_file_fn fn,
			     void *ctx)
{
	for (size_t i = 0; i < p->programs.slots.len; i++) {
		struct program *e = p->programs.slots.data[i];
		struct unwind_process ignored;

		if (!e || e->info.end_ns)
			continue;
		if (e->is_stale)
			(void)programs_mappings(&p->programs, e, now_ns, &ignored);
		if (e == p->programs.slots.data[i] && !e->info.end_ns)
			each_file(e, fn, ctx);
	}
}

void process_table_stats(const struct process_table *p, struct process_table_stats *out)
{
	*out = p->programs.stats;
	out->mappings_bytes = p->programs.mappings.used_bytes;
	out->n_mappings_full += p->programs.mappings.n_refused;
}
