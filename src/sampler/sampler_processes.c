/* SPDX-License-Identifier: Apache-2.0 */
#include "sampler/sampler_processes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/sample.skel.h"
#include "sampler/sampler_state.h"
#include "sampler/walk_programs.h"

enum {
	PROGRAMS_NS = 1000000000
}; /* time limit for loading the BPF programs of running languages */

int sampler_add_target(struct sampler *s, uint32_t pid)
{
	struct selection any = { 0 };

	return bpf_map__update_elem(s->skel->maps.selected, &pid, sizeof(pid), &any, sizeof(any),
				    BPF_ANY);
}

static bool get_selection(const struct sampler *s, uint32_t pid, struct selection *out)
{
	return bpf_map__lookup_elem(s->skel->maps.selected, &pid, sizeof(pid), out, sizeof(*out),
				    0) == 0;
}

void sampler_select_by_rules(struct sampler *s, bool by_rules)
{
	if (s->skel->bss)
		s->skel->bss->select_by_rules = by_rules;
}

/*
 * An entry that the BPF program made at the fork has the start of the process, which is retained.
 */
int sampler_select(struct sampler *s, uint32_t pid, const struct selection *selection)
{
	struct selection own = *selection, old;

	if (get_selection(s, pid, &old) && old.start_ns)
		own.start_ns = old.start_ns;
	return bpf_map__update_elem(s->skel->maps.selected, &pid, sizeof(pid), &own, sizeof(own),
				    BPF_ANY);
}

/* Returns true if samples of the process are walked, or will be when the rules have decided. */
static bool is_profiled(const struct sampler *s, uint32_t pid)
{
	struct selection selection;

	if (!s->opts.targets_only && !s->opts.by_rules)
		return true;
	if (!get_selection(s, pid, &selection))
		return !s->opts.targets_only;
	return (selection.flags & SELECT_EXCLUDED) != SELECT_EXCLUDED;
}

int sampler_put_process(struct sampler *s, uint32_t pid, const struct unwind_process *p)
{
	struct unwind_process own = *p;

	walk_programs_request(s->walks, p->languages, &own.walk, &own.lists);
	return bpf_map__update_elem(s->skel->maps.processes, &pid, sizeof(pid), &own, sizeof(own),
				    BPF_ANY);
}

void sampler_expect(struct sampler *s, uint32_t pid, uint32_t languages)
{
	uint16_t walk, lists;

	if (!s->opts.user || !is_profiled(s, pid))
		return;
	walk_programs_request(s->walks, languages, &walk, &lists);
}

void sampler_wait_for_programs(struct sampler *s)
{
	walk_programs_wait(s->walks, PROGRAMS_NS);
}

int sampler_put_executable(struct sampler *s, const struct executable_key *key,
			   const struct executable *e)
{
	struct executable own = *e;

	walk_programs_request(s->walks, e->languages, &own.walk, &own.lists);
	return bpf_map__update_elem(s->skel->maps.executables, key, sizeof(*key), &own, sizeof(own),
				    BPF_ANY);
}

void sampler_remove_executable(struct sampler *s, const struct executable_key *key)
{
	bpf_map__delete_elem(s->skel->maps.executables, key, sizeof(*key), 0);
}

void sampler_remove_process(struct sampler *s, uint32_t pid)
{
	bpf_map__delete_elem(s->skel->maps.processes, &pid, sizeof(pid), 0);
}

/* The pid may belong to a new process already, which the kernel has selected since. */
static void end_target(struct sampler *s, uint32_t pid, uint64_t start_ns)
{
	struct selection selected;

	if (get_selection(s, pid, &selected) &&
	    (!selected.start_ns || selected.start_ns == start_ns))
		bpf_map__delete_elem(s->skel->maps.selected, &pid, sizeof(pid), 0);
}

void sampler_end_process(struct sampler *s, uint32_t pid, uint64_t start_ns)
{
	sampler_remove_process(s, pid);
	if (s->opts.targets_only || s->opts.by_rules)
		end_target(s, pid, start_ns);
}
