/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Steps through the code that HotSpot (JDK 8 to 26) generates, which is on the C stack:
 *
 * compiled code     the code heap's segment map leads from any pc to its blob, whose head has the
 *                   size of the frame; a leaf may have built only a part of it, which the code at
 *                   the pc decides (jvm_compiled.h)
 * the interpreter   rbp points to the frame, which holds the method, the address of the byte code
 *                   and the caller's rsp (jvm_interpreter.h)
 * stubs             the call that leads into their code; a frame size, or rbp (jvm_stub.h)
 *
 * A return address must lead to mapped code. If it does not, the stack is searched for the first
 * word that is the address after a call instruction. Layouts come from the process's own tables
 * (gHotSpotVMStructs), see src/lang/jvm.
 */
#include "bpf/lib/lang/jvm_compiled.h"
#include "bpf/lib/lang/jvm_interpreter.h"
#include "bpf/lib/lang/jvm_stub.h"

/* Finds what kind of code the pc is in, and pushes a compiled method's frame. */
WALK_FN int jvm_code(__u32 which)
{
	struct walk *w = lang_walk_get(LANG_JVM, which);
	const struct jvm_vm *vm;

	if (!w)
		return WALK_STOP;
	vm = jvm_get(MAPPING_LANG_VM(w->mapping.file));
	if (!vm || jvm_read_blob(which)) {
		w->folded = 0;
		walk_push(w, FRAME_WORD(FRAME_ADDRESS, w->regs[UREG_PC] - w->is_call));
		return JVM_NEXT_SEARCH;
	}
	if (jvm_field(w, vm->header_size) == vm->nmethod_size)
		return jvm_compiled(w, vm);
	return JVM_NEXT_STUB;
}

static __always_inline void jvm_walk_begin(struct walk *w)
{
	w->lang.jvm.blob_at = 0;
	w->lang.jvm.chunk = 0;
	w->lang.jvm.chunk_end = 0;
}

/*
 * Steps through a frame in memory that the agent registered. The kinds are tried in a flat
 * sequence, because chains of BPF calls may be eight deep only.
 */
static __always_inline int jvm_step_generated(struct walk *w, __u32 which, __u32 slot)
{
	__u32 part = MAPPING_PART_OF(w->mapping.kind);
	int r = JVM_NEXT_INTERPRETED;

	if (part == JVM_PART_CODE)
		r = jvm_code(which);
	else if (part == JVM_PART_ENTRY && !w->is_call)
		r = jvm_entry(which);
	if (r == JVM_NEXT_INTERPRETED)
		r = jvm_interpreted(which);
	if (r == JVM_NEXT_STUB)
		r = jvm_stub(which);
	if (r == JVM_NEXT_CALLED)
		r = jvm_leave_called(which);
	if (r == JVM_NEXT_STUB_FRAME)
		r = jvm_leave_stub(which);
	if (r == JVM_NEXT_LEAF)
		r = jvm_leaf(which);
	if (r == JVM_NEXT_OLD_SP)
		r = jvm_old_sp(which);
	if (r == JVM_NEXT_RETURN)
		r = jvm_return(which);
	if (r == JVM_NEXT_CHUNK && jvm_leave_chunk(w, which) == WALK_CONTINUE)
		return WALK_CONTINUE;
	return r == JVM_NEXT_SEARCH || r == JVM_NEXT_CHUNK ? jvm_search(which) : r;
}

/* HotSpot's library has no code of this kind. */
static __always_inline int jvm_step_file(__u32 which, __u32 slot, __u64 word)
{
	return WALK_OTHER;
}

static __always_inline void jvm_push_marker(struct walk *w, __u32 slot)
{
}
