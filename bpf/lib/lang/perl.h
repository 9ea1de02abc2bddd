/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Perl's subs, from its stacks of contexts (cop.h). The loop holds the thread's interpreter in rbx;
 * if that is unknown, the process's first interpreter is used. A call from C has a context that
 * returns to nowhere, which marks the activation. The place of a frame is in the context of the
 * next inner one: its old COP, which has the line.
 */
#include "bpf/lib/lang/perl_copy.h"
#include "bpf/lib/vm_near.h"

/* Moves to the innermost context of the stack @info. */
static __always_inline int perl_stack(struct walk *w, const struct perl_vm *perl, __u64 info)
{
	__u32 type = perl->info_type;
	__u64 contexts;
	__s32 top;

	if (read_user(w->vm_frame.words, PERL_INFO_BYTES, info))
		return WALK_STOP;
	w->lang.perl.stack = info;
	contexts = w->vm_frame.words[PERL_INFO_CONTEXTS / 8];
	top = (__s32)w->vm_frame.words[PERL_INFO_TOP / 8];
	w->lang.perl.stack_type = (__u32)(w->vm_frame.words[(type >> 3) & 7] >> (type & 4) * 8);
	w->lang.perl.first_context = contexts;
	w->vm_at = contexts + (__s64)top * perl->context_bytes;
	return top < -1 ? WALK_STOP : WALK_CONTINUE;
}

static __always_inline int perl_interpreter(struct walk *w, const struct perl_vm *perl, __u64 at)
{
	__u64 info = 0;

	if (!at || read_user(&w->lang.perl.cop, sizeof(w->lang.perl.cop), at + perl->curcop) ||
	    read_user(&info, sizeof(info), at + perl->curstackinfo) || !info)
		return WALK_STOP;
	return perl_stack(w, perl, info);
}

WALK_FN int perl_begin(__u32 which, __u32 slot)
{
	struct walk *w = lang_walk_get(LANG_PERL, which);
	const struct perl_vm *perl;
	__u64 at = 0;

	if (!w || slot >= VM_SLOTS_MAX)
		return WALK_STOP;
	perl = perl_get(w->process.vms[slot].vm);
	if (!perl)
		return WALK_STOP;
	if (!perl->interpreter)
		return perl_interpreter(w, perl, w->process.vms[slot].bias);
	if (w->n_loops[slot] && perl_interpreter(w, perl, w->loop_aux) == WALK_CONTINUE)
		return WALK_CONTINUE;
	/*
	 * the variable holds the main thread's interpreter; those of other threads are only in the
	 * loop's register
	 */
	if (w->record.head.tid != w->record.head.pid ||
	    read_user(&at, sizeof(at), w->process.vms[slot].bias + perl->interpreter))
		return WALK_STOP;
	return perl_interpreter(w, perl, at);
}

/* Pushes a frame at the current COP. */
static __always_inline void perl_push(struct walk *w, __u32 slot, __u64 addr, __u32 cookie)
{
	__u32 line = 0;

	if (read_user(&line, sizeof(line), w->lang.perl.cop + PERL_COP_LINE))
		line = 0;
	vm_push(w, slot, addr, line, cookie);
}

/*
 * Finds the file name of the current COP: with threads the COP's own, else that of a glob. Returns
 * 0 or -1.
 */
static __always_inline int perl_file(struct walk *w, const struct perl_vm *perl, __u64 *out)
{
	if (read_user(out, sizeof(*out), w->lang.perl.cop + PERL_COP_FILE))
		return -1;
	if (perl->interpreter)
		return 0;
	if (read_user(out, sizeof(*out), *out + PERL_BODY) ||
	    read_user(out, sizeof(*out), *out + PERL_GLOB_NAME))
		return -1;
	*out += PERL_GLOB_FILE;
	return 0;
}

static __always_inline void perl_push_cop(struct walk *w, const struct perl_vm *perl, __u32 slot,
					  __u32 kind)
{
	__u64 file = 0, text[2] = { 0 };
	__u32 cookie = 0;

	/* the read fails for a shorter name at the end of a mapping */
	if (!perl_file(w, perl, &file) && !read_user(text, sizeof(text), file))
		cookie = vm_cookie(PERL_FILE_BYTES(kind, file, text[0], text[1]));
	perl_push(w, slot, (w->lang.perl.cop & ~(__u64)PERL_KIND_MASK) | kind, cookie);
}

static __always_inline void perl_push_sub(struct walk *w, __u32 slot, __u64 cv, int begins)
{
	__u64 body = 0, key[PERL_CV_WORDS] = { 0 };
	__u32 cookie = 0;

	if (!read_user(&body, sizeof(body), cv + PERL_BODY) &&
	    !read_user(key, sizeof(key), body + PERL_CV_ROOT))
		cookie = vm_cookie(PERL_SUB_BYTES(key));
	perl_push(w, slot, begins ? cv | PERL_BEGIN : cv, cookie);
}

/*
 * Continues below a stack's contexts: at the program itself, or at the stack from which this one
 * was begun.
 */
static __always_inline int perl_stack_end(struct walk *w, const struct perl_vm *perl, __u32 slot)
{
	__u64 prev = 0;

	if (w->lang.perl.stack_type == PERL_INFO_MAIN) {
		perl_push_cop(w, perl, slot, PERL_FILE);
		vm_mark_last(w);
		return WALK_STOP;
	}
	if (read_user(&prev, sizeof(prev), w->lang.perl.stack + PERL_INFO_PREV) || !prev)
		return WALK_STOP;
	return perl_stack(w, perl, prev);
}

WALK_FN int perl_step(__u32 which, __u32 slot)
{
	struct walk *w = lang_walk_get(LANG_PERL, which);
	const struct perl_vm *perl;
	__u32 type, n;
	__u64 from, cv;

	if (!w || slot >= VM_SLOTS_MAX)
		return WALK_STOP;
	perl = perl_get(w->process.vms[slot].vm);
	if (!perl)
		return WALK_STOP;
	if (w->vm_at < w->lang.perl.first_context)
		return perl_stack_end(w, perl, slot);
	n = perl->context_bytes;
	from = w->vm_at - w->lang.perl.first_context > VM_NEAR_BEFORE ? w->vm_at - VM_NEAR_BEFORE
								      : w->lang.perl.first_context;
	if (n > PERL_CONTEXT_BYTES_MAX || n < 8 ||
	    vm_near_frame(w, PERL_CONTEXT_BYTES_MAX, w->vm_at, from)) {
		w->record.head.flags |= RECORD_VM_TRUNCATED;
		return WALK_STOP;
	}
	w->vm_at -= n;
	type = w->vm_frame.bytes[0];
	if ((type & PERL_TYPE_MASK) == PERL_TYPE_SUB && type & PERL_SUB_REGEX) {
		perl_push_cop(w, perl, slot, PERL_REGEX);
	} else if ((type & PERL_TYPE_MASK) == PERL_TYPE_SUB) {
		/* the outermost sub of its stack, except for the eval in which it is called */
		cv = w->vm_frame.words[(perl->context_cv >> 3) & 15];
		perl_push_sub(w, slot, cv,
			      w->lang.perl.stack_type == PERL_INFO_REQUIRE &&
				      w->vm_at <= w->lang.perl.first_context);
	} else if ((type & PERL_TYPE_MASK) == PERL_TYPE_EVAL && !(type & PERL_EVAL_BLOCK)) {
		perl_push_cop(w, perl, slot, PERL_FILE);
	} else if ((type & PERL_TYPE_MASK) == PERL_TYPE_SORT_BLOCK) {
		perl_push_cop(w, perl, slot, PERL_SORT);
		vm_mark_last(w);
		w->lang.perl.cop = w->vm_frame.words[PERL_CONTEXT_COP / 8];
		return WALK_CONTINUE;
	} else {
		return WALK_CONTINUE;
	}
	if (!w->vm_frame.words[PERL_CONTEXT_RETURN / 8])
		vm_mark_last(w);
	w->lang.perl.cop = w->vm_frame.words[PERL_CONTEXT_COP / 8];
	return WALK_CONTINUE;
}
