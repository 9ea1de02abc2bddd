/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Programs that the agent has not published yet. Their stacks are copied for the agent to walk. The
 * frames of an interpreter cannot wait for that, because by then the interpreter runs other
 * functions. So they are read here, with the layout that the agent has published for the executable
 * if an earlier process ran it.
 *
 * The child of a published process is walked at once: until the agent publishes the child, it uses
 * the description of its parent, whose memory it shares or has a copy of. The mappings of a
 * replaced description are kept for a second (UNWIND_GRACE_NS), so an inherited one is valid for
 * half of that.
 */
#include "bpf/lib/walk_state.h"

#define INHERITED_NS 500000000ULL

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, EXECUTABLES_MAX);
	__type(key, struct executable_key);
	__type(value, struct executable);
} executables SEC(".maps");

/*
 * True if @p describes the program that @head belongs to and was still valid when the sample was
 * taken.
 */
static __always_inline int is_published(const struct unwind_process *p,
					const struct record_header *head)
{
	return is_same_program(&p->program, &head->program) &&
	       (!p->until_ns || head->time_ns < p->until_ns);
}

/* Makes w->process a program without mappings whose executable may be a known interpreter. */
static __always_inline void newcomer_describe(struct walk *w, struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct inode *inode = BPF_CORE_READ(mm, exe_file, f_inode);
	struct executable_key key = { .inode = BPF_CORE_READ(inode, i_ino),
				      .device = BPF_CORE_READ(inode, i_sb, s_dev) };
	const struct executable *e = bpf_map_lookup_elem(&executables, &key);

	__builtin_memset(&w->process, 0, sizeof(w->process));
	w->process.program = w->record.head.program;
	if (!e || e->bytes != (__u64)BPF_CORE_READ(inode, i_size))
		return;
	w->process.languages = e->languages;
	w->process.walk = e->walk;
	w->process.lists = e->lists;
	w->process.vms[0].vm = e->vm;
	w->process.vms[0].file = e->file;
	w->process.vms[0].bias = e->bias + BPF_CORE_READ(mm, start_code);
}

/* Gives a new process the description of its parent. */
static __always_inline void newcomer_inherit(struct task_struct *parent, struct task_struct *child)
{
	__u32 from = BPF_CORE_READ(parent, tgid), to = BPF_CORE_READ(child, tgid);
	const struct unwind_process *known = bpf_map_lookup_elem(&processes, &from);
	struct unwind_process own;
	struct program_id id;

	if (!known)
		return;
	own = *known;
	program_of(parent, &id);
	if (!is_same_program(&own.program, &id))
		return;
	program_of(child, &own.program);
	own.unmapped_is_final = 0;
	if (!own.until_ns)
		own.until_ns = bpf_ktime_get_ns() + INHERITED_NS;
	bpf_map_update_elem(&processes, &to, &own, BPF_ANY);
}
