/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Selects the processes to profile: the targets of a recording, or those that the rules of the
 * agent do not exclude (struct selection in bpf/shared/abi.h). The check precedes every walk, so a
 * sample of an excluded process costs one look-up.
 *
 * The decision about a parent applies to its child until the agent has decided about the child. If
 * the decision may depend on a program's name or executable, the program is profiled after an exec
 * until the agent has decided again; the agent drops the samples if it turns out to be excluded.
 */

const volatile __u32 selected_only = 0;
const volatile __u32 select_children = 0; /* with selected_only: children of selected processes */
volatile __u32 select_by_rules = 0;       /* the map has the decisions of rules */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROCESSES_MAX);
	__type(key, __u32);
	__type(value, struct selection);
} selected SEC(".maps");

/*
 * Returns 0 if process @pid is profiled, and otherwise the number of the rule that excludes it,
 * plus one. @flag is the enum select_flags of what is about to be recorded.
 */
static __always_inline __u32 select_excluding_rule(__u32 pid, __u32 flag)
{
	const struct selection *s;

	if (!selected_only && !select_by_rules)
		return 0;
	s = bpf_map_lookup_elem(&selected, &pid);
	if (!s)
		return selected_only;
	return s->flags & flag ? s->rule + 1 : 0;
}

/* Returns true if process @pid is not profiled, and counts the sample as excluded. */
static __always_inline int select_excludes(struct counters *c, __u32 pid, __u32 flag)
{
	__u32 rule = select_excluding_rule(pid, flag);

	if (!rule)
		return 0;
	c->n[COUNTER_FILTERED]++;
	c->excluded[(rule - 1) & (SELECT_RULES_MAX - 1)]++;
	return 1;
}

/* Called at an exec: profiles the process again if its exclusion may depend on the program. */
static __always_inline void select_exec(__u32 pid)
{
	struct selection *s;

	if (!select_by_rules)
		return;
	s = bpf_map_lookup_elem(&selected, &pid);
	if (s && s->flags & SELECT_UNTIL_EXEC)
		s->flags &= ~SELECT_EXCLUDED;
}

/* Returns false if the child is not profiled and nothing has to be known about it. */
static __always_inline int select_fork(__u32 parent, __u32 child, __u64 child_start_ns)
{
	const struct selection *s;
	struct selection own;

	if (!selected_only && !select_by_rules)
		return 1;
	if (selected_only && !select_children)
		return 0;
	s = bpf_map_lookup_elem(&selected, &parent);
	if (!s)
		return !selected_only;
	own = *s;
	own.start_ns = child_start_ns;
	bpf_map_update_elem(&selected, &child, &own, BPF_ANY);
	return 1;
}
