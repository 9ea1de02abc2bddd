/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel identifies a program by the start time of its process and the number of its execs. A
 * program whose events were seen gets the identity of the first record that can only be about it;
 * from then on a record finds it by identity alone.
 */
#include "process/program_identity.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/vec.h"
#include "proc/stat.h"
#include "process/programs.h"
#include "sampler/sampler.h"

enum { SWEEP_COST_SHARE = 20 }; /* a sweep may take up to 1/20 of the time */

#define SWEEP_NS 10000000000ULL /* shortest interval of sweeps while no event was lost */

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

/* Reads the name of a program that has none. Do not call it while events are being applied. */
static void read_name(struct programs *p, struct program *e)
{
	char comm[16];

	if (e->is_named || e->info.end_ns)
		return;
	e->is_named = true;
	proc_comm((int)e->info.pid, comm);
	programs_apply_events(p);
	if (!e->info.end_ns && !e->info.comm[0])
		program_set_comm(e, comm);
}

/* Adds a program whose fork or exec was not in the side-band. */
static struct program *add_missed(struct programs *p, const struct program *old, uint64_t time_ns,
				  const struct program_id *id)
{
	uint32_t ppid = old->info.id.start_ns == id->start_ns ? old->info.ppid : 0;
	struct program *e = programs_add_stale(p, old->info.pid, time_ns);

	if (!e)
		return NULL;
	e->info.id = *id;
	e->info.ppid = ppid;
	p->stats.n_corrected++;
	return e;
}

/* A record of a program that a sweep did not find. */
static void revive(struct programs *p, struct program *e)
{
	e->info.end_ns = 0;
	e->is_swept_away = false;
	e->is_stale = true;
	e->all_threads_seen = false;
	p->stats.n_running++;
	programs_mark_dirty(p, e);
}

/* Finds the program with an identity that no entry has, but that is certainly right. */
static struct program *learn(struct programs *p, uint32_t pid, uint64_t time_ns,
			     const struct program_id *id)
{
	struct program *newest = programs_get(p, pid), *e = programs_at(p, pid, time_ns);

	if (!e) {
		e = programs_add_stale(p, pid, time_ns);
		if (e)
			e->info.id = *id;
		return e;
	}
	if (e->info.start_ns > time_ns)
		return NULL;
	if (!e->info.id.start_ns) {
		e->info.id = *id;
		programs_mark_dirty(p, e);
		return e;
	}
	return e == newest && is_newer_id(id, &e->info.id) ? add_missed(p, e, time_ns, id) : NULL;
}

/* A record of the middle of an exec is the new program's if its identity follows the old one's. */
static struct program *find_in_exec(struct programs *p, uint32_t pid, uint64_t time_ns,
				    const struct program_id *id)
{
	struct program *e = programs_at(p, pid, time_ns);
	const struct program *old = e ? e->older : NULL;

	if (!old || e->info.id.start_ns || old->info.id.start_ns != id->start_ns)
		return NULL;
	return old->info.id.exec_id + 1 == id->exec_id ? e : NULL;
}

struct program *programs_identify(struct programs *p, uint32_t pid, uint64_t time_ns,
				  const struct program_id *id, bool is_sure)
{
	struct program *e = programs_get(p, pid);

	if (!id->start_ns)
		return programs_at(p, pid, time_ns);
	while (e && !is_same_id(&e->info.id, id))
		e = e->older;
	if (!e)
		e = is_sure ? learn(p, pid, time_ns, id) : find_in_exec(p, pid, time_ns, id);
	if (!e)
		return NULL;
	if (e->is_swept_away)
		revive(p, e);
	read_name(p, e);
	return e;
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

/* Compares a running process with its entry in the table. The sweep began at @since_ns. */
static void sweep_found(struct programs *p, const struct record_header *h, uint64_t since_ns)
{
	struct program *e = programs_get(p, h->pid);

	if (!e)
		return;
	e->sweep = p->n_sweeps;
	if (e->info.start_ns >= since_ns || e->info.end_ns || h->flags & RECORD_IN_EXEC)
		return;
	if (!e->info.id.start_ns) {
		e->info.id = h->program;
		programs_mark_dirty(p, e);
	} else if (is_newer_id(&h->program, &e->info.id)) {
		e = add_missed(p, e, h->time_ns, &h->program);
		if (e)
			e->sweep = p->n_sweeps;
	}
}

/*
 * Marks programs that the sweep did not find as ended. The events of their ends may still come, or
 * were lost.
 */
static void sweep_missing(struct programs *p, uint64_t since_ns)
{
	for (size_t i = 0; i < p->slots.len; i++) {
		struct program *e = p->slots.data[i];

		if (!e || e->info.end_ns || e->sweep == p->n_sweeps || e->info.start_ns >= since_ns)
			continue;
		programs_end(p, e, since_ns);
		e->is_swept_away = true;
		p->stats.n_corrected++;
		sampler_end_process(p->sampler, e->info.pid, e->info.id.start_ns);
	}
}

void programs_sweep(struct programs *p)
{
	uint64_t since_ns = clock_monotonic_ns(), cost_ns;
	struct sweep all = { 0 };

	if (since_ns < p->next_sweep_ns)
		return;
	p->n_sweeps++;
	if (sampler_each_program(p->sampler, on_program, &all) == 0 && all.len) {
		/* apply the events that preceded the state that the sweep has seen */
		programs_apply_events(p);
		for (size_t i = 0; i < all.len; i++)
			sweep_found(p, &all.data[i], since_ns);
		sweep_missing(p, since_ns);
	}
	vec_fini(&all);
	cost_ns = (clock_monotonic_ns() - since_ns) * SWEEP_COST_SHARE;
	p->next_sweep_ns = since_ns + (cost_ns > SWEEP_NS ? cost_ns : SWEEP_NS);
}
