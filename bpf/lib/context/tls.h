/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Finds a thread-local variable of a file in the sampled thread, for all models of addressing. The
 * dynamic ones use the thread's DTV, an array of the memory that the thread has for each module.
 */
#include "bpf/lib/walk_state.h"
#include "bpf/shared/context.h"

struct tls_index {
	__u64 module, offset;
};

/* Returns the memory of the module in the sampled thread; 0 if it has none yet. */
static __always_inline __u64 tls_of_module(const struct walk *w, __u64 module, int is_musl)
{
	__u64 dtv = 0, n = 0, at = 0;

	if (!module || module >= CONTEXT_TLS_MODULES_MAX ||
	    read_user(&dtv, sizeof(dtv), w->thread_pointer + 8) || !dtv)
		return 0;
	/* the number of entries: glibc has it one slot before the array, musl in the first slot */
	if (read_user(&n, sizeof(n), is_musl ? dtv : dtv - 16) || module > n)
		return 0;
	if (read_user(&at, sizeof(at), dtv + module * (is_musl ? 8 : 16)) || at == ~0ULL)
		return 0;
	return at;
}

static __always_inline __u64 tls_by_index(const struct walk *w, const struct tls_index *index,
					  int is_musl)
{
	__u64 at = tls_of_module(w, index->module, is_musl);

	return at ? at + index->offset : 0;
}

/* Returns the address of the variable; 0 if the thread has no memory for it yet. */
static __always_inline __u64 context_variable(const struct walk *w,
					      const struct context_layout *layout, __u64 bias)
{
	struct tls_index words = {};
	__u64 at = bias + layout->at;

	if (layout->tls == CONTEXT_TLS_OFFSET)
		return w->thread_pointer + layout->at;
	if (read_user(&words, sizeof(words), at))
		return 0;
	if (layout->tls == CONTEXT_TLS_GOT_OFFSET)
		return words.module ? w->thread_pointer + words.module : 0;
	if (layout->tls == CONTEXT_TLS_GOT_DESCRIPTOR) {
		/* before its first use a lazy descriptor has no argument */
		if (!words.offset)
			return 0;
		if ((__s64)words.offset < 0)
			return w->thread_pointer + words.offset;
		at = words.offset;
		if (read_user(&words, sizeof(words), at))
			return 0;
	}
	return tls_by_index(w, &words, layout->is_musl);
}
