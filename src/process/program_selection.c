/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pids wait in a list, in order; a program is listed once, however often it changes. Decisions
 * about programs that have ended are not published: they serve the samples that are still queued.
 */
#include "process/program_selection.h"

#include "process/file_table.h"
#include "process/programs.h"
#include "sampler/sampler.h"

enum {
	DECIDE_MAX = 256, /* new or changed programs in one turn */
	RECHECK_MAX = 64, /* others in one turn */
	RECHECK_S = 10,   /* between two decisions about a program, unless there are too many */
};

#define RECHECK_NS (RECHECK_S * 1000000000ULL)

/* The decision is published even if it is the same: an exec may have reset it in the kernel. */
static void decide(struct programs *p, struct program *e)
{
	const struct process_rules *rules = &p->selection.rules;
	const struct file_info *exe = file_table_get(p->files, e->info.exe);

	e->is_undecided = false;
	if (!rules->select)
		return;
	p->stats.n_decisions++;
	(void)rules->select(rules->ctx, &e->info, exe ? exe->path : "", &e->selection);
	/* without room in the map it is profiled, and its samples are dropped here */
	if (!e->info.end_ns && e == programs_get(p, e->info.pid))
		(void)sampler_select(p->sampler, e->info.pid, &e->selection);
}

void program_selection_set(struct programs *p, const struct process_rules *rules)
{
	struct program_decisions *s = &p->selection;

	s->rules = *rules;
	s->undecided.len = s->next = 0;
	for (size_t i = 0; i < p->slots.len; i++) {
		for (struct program *e = p->slots.data[i]; e; e = e->older) {
			e->selection = rules->unknown;
			decide(p, e);
		}
	}
	sampler_select_by_rules(p->sampler, rules->select != NULL);
}

static void decide_undecided(struct programs *p)
{
	struct program_decisions *s = &p->selection;

	for (int n = 0; n < DECIDE_MAX && s->next < s->undecided.len; n++) {
		struct program *e = programs_get(p, s->undecided.data[s->next++]);

		if (e && e->is_undecided)
			decide(p, e);
	}
	if (s->next == s->undecided.len)
		s->undecided.len = s->next = 0;
}

/* Decides about a share of all programs, so that each has its turn once in RECHECK_S. */
static void decide_again(struct programs *p, uint64_t now_ns)
{
	struct program_decisions *s = &p->selection;
	uint64_t passed_ns = now_ns - s->recheck_ns;
	uint64_t n = passed_ns < RECHECK_NS ? p->slots.len * passed_ns / RECHECK_NS : p->slots.len;

	if (!n)
		return;
	s->recheck_ns = now_ns;
	for (uint64_t i = 0; i < n && i < RECHECK_MAX; i++) {
		struct program *e;

		s->cursor = s->cursor < p->slots.len ? s->cursor : 0;
		e = p->slots.data[s->cursor++];
		if (e && !e->info.end_ns)
			decide(p, e);
	}
}

void program_selection_run(struct programs *p, uint64_t now_ns)
{
	if (!p->selection.rules.select)
		return;
	decide_undecided(p);
	decide_again(p, now_ns);
}

const struct selection *program_selection_get(struct programs *p, struct program *e)
{
	if (!e || !p->selection.rules.select)
		return &p->selection.rules.unknown;
	if (e->is_undecided)
		decide(p, e);
	return &e->selection;
}
