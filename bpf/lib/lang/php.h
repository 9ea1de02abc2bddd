/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * PHP's calls (zend_execute_data), from executor_globals, of which each thread has its own with
 * thread safety. A call has a flag if the loop was entered with it; functions written in C have
 * calls too, without that flag. The line is read here and sent as the place, because it is in the
 * instruction.
 */
#include "bpf/lib/lang/php_copy.h"
#include "bpf/lib/vm_near.h"

enum {
	PHP_STEP_MAX =
		1
		<< 20, /* bytes between the saved instruction and the one in a register, at most */
	PHP_DELEGATES_MAX = 8, /* generators that wait for one another in `yield from` */
};

/* The address to which php->current is relative; 0 if it cannot be read. */
static __always_inline __u64 php_find_globals(const struct walk *w, const struct php_vm *php,
					      __u64 bias)
{
	__u64 tls = (__u64)php->tls, storage = 0, globals = 0;

	if (php->globals_kind == PHP_GLOBALS_LINKED)
		return bias;
	if (read_user(&globals, sizeof(globals), bias + php->globals))
		return 0;
	if (php->globals_kind == PHP_GLOBALS_SLOT)
		return globals;
	if (php->is_indirect && read_user(&globals, sizeof(globals), globals))
		return 0;
	if (php->globals_kind == PHP_GLOBALS_TLS_SLOT && read_user(&tls, sizeof(tls), bias + tls))
		return 0;
	if (read_user(&storage, sizeof(storage), w->thread_pointer + tls) || !storage)
		return 0;
	return storage + globals;
}

WALK_FN int php_begin(__u32 which, __u32 slot)
{
	struct walk *w = lang_walk_get(LANG_PHP, which);
	const struct php_vm *php;
	__u64 globals;

	if (!w || slot >= VM_SLOTS_MAX)
		return WALK_STOP;
	w->lang.php.n_waiting = 0;
	php = php_get(w->process.vms[slot].vm);
	if (!php)
		return WALK_STOP;
	globals = php_find_globals(w, php, w->process.vms[slot].bias);
	if (read_user(&w->vm_at, sizeof(w->vm_at), globals + php->current))
		return WALK_STOP;
	return w->vm_at ? WALK_CONTINUE : WALK_STOP;
}

/*
 * The current instruction of a call. While the loop itself runs, it is in r15, where GCC keeps it;
 * otherwise the loop has saved it.
 */
static __always_inline __u64 php_opline(const struct walk *w, __u32 slot, __u64 call)
{
	__u64 saved = w->vm_frame.words[PHP_CALL_OPLINE / 8], now = w->leaf_regs[15];
	__u64 ahead = now - saved + PHP_STEP_MAX;

	/* r14 is the call; it changes before executor_globals does */
	if (!vm_is_first(w) || !vm_leaf_is_loop(w, slot) || w->leaf_regs[14] != call ||
	    ahead > 2 * PHP_STEP_MAX || ahead % PHP_OPLINE_BYTES)
		return saved;
	return now;
}

/*
 * A call without a function may belong to a generator that has delegated with `yield from` and so
 * called the running generator. The generators in between, from its delegate on, are not in the
 * list of calls. Counts how many wait.
 */
static __always_inline void php_find_delegators(struct walk *w, const struct php_vm *php,
						__u64 call)
{
	__u64 at = w->vm_frame.words[PHP_CALL_THIS / 8], node = call - php->generator_node - at;
	__u64 class = 0, own = 0, next = 0;

	if ((w->vm_frame.words[PHP_CALL_INFO / 8] & 0xff) != PHP_CALL_OBJECT ||
	    node > PHP_GENERATOR_BYTES_MAX || read_user(&own, sizeof(own), at + PHP_OBJECT_CLASS))
		return;
	w->lang.php.generator = at;
	w->lang.php.node = node;
	for (int i = 0; i < PHP_DELEGATES_MAX; i++) {
		if (read_user(&next, sizeof(next), at + node) || !next ||
		    read_user(&class, sizeof(class), next + PHP_OBJECT_CLASS) || class != own)
			return;
		at = next;
		w->lang.php.n_waiting++;
	}
}

/* The call of the innermost waiting generator that has not been passed yet. */
static __always_inline __u64 php_next_delegator(struct walk *w, const struct php_vm *php)
{
	__u64 at = w->lang.php.generator, call = 0;

	w->lang.php.n_waiting--;
	for (int i = 0; i < PHP_DELEGATES_MAX; i++)
		if (i < (__s64)w->lang.php.n_waiting &&
		    read_user(&at, sizeof(at), at + w->lang.php.node))
			return 0;
	return read_user(&call, sizeof(call), at + php->generator_call) ? 0 : call;
}

/*
 * Reads a function's words up to its file name and lines, or the first ones, in one read; NULL if
 * neither is possible.
 */
static __always_inline const __u64 *php_function(struct walk *w, const struct php_vm *php,
						 __u64 func)
{
	__u64 *words = w->window + VM_NEAR_STRETCH / 8;
	__u32 len = bounded_here(php->func_filename + 16);

	if (len < PHP_FUNC_BYTES || len > VM_NEAR_STRETCH)
		return NULL;
	if (!read_user(words, len, func))
		return words;
	words[0] = PHP_INTERNAL; /* an internal function is shorter and may be at the end of a
				    mapping */
	return read_user(words, PHP_FUNC_BYTES, func) || (words[0] & 0xff) != PHP_INTERNAL ? NULL
											   : words;
}

WALK_FN int php_step(__u32 which, __u32 slot)
{
	struct walk *w = lang_walk_get(LANG_PHP, which);
	const struct php_vm *php;
	const __u64 *words;
	__u32 line = 0, waits, n;
	__u64 func, call;

	if (!w || slot >= VM_SLOTS_MAX)
		return WALK_STOP;
	php = php_get(w->process.vms[slot].vm);
	if (!php)
		return WALK_STOP;
	waits = w->lang.php.n_waiting != 0;
	call = waits ? php_next_delegator(w, php) : w->vm_at;
	if (vm_near_frame(w, PHP_CALL_BYTES, call, call - VM_NEAR_BEFORE)) {
		w->record.head.flags |= RECORD_VM_TRUNCATED;
		return WALK_STOP;
	}
	func = w->vm_frame.words[PHP_CALL_FUNC / 8];
	if (!waits)
		w->vm_at = w->vm_frame.words[PHP_CALL_PREV / 8];
	if (!func && !waits) /* a generator's link to its caller, or C code's */
		php_find_delegators(w, php, call);
	if (!func)
		return w->vm_at ? WALK_CONTINUE : WALK_STOP;
	words = php_function(w, php, func);
	if (!words || (words[0] & 0xff) == PHP_INTERNAL) {
		vm_push(w, slot, func, 0,
			words ? vm_cookie(PHP_HEAD_BYTES(words[1], words[2])) : vm_cookie(0));
		return w->vm_at ? WALK_CONTINUE : WALK_STOP;
	}
	if (read_user(&line, sizeof(line), php_opline(w, slot, call) + PHP_OPLINE_LINE))
		line = 0;
	n = bounded_here(php->func_filename / 8);
	if (n > VM_NEAR_STRETCH / 8 - 2)
		return WALK_STOP;
	vm_push(w, slot, func, line,
		vm_cookie(PHP_COOKIE_BYTES(words[1], words[2], words[n], words[n + 1])));
	if (!waits && w->vm_frame.words[PHP_CALL_INFO / 8] & PHP_CALL_TOP)
		vm_mark_last(w);
	return w->vm_at ? WALK_CONTINUE : WALK_STOP;
}
