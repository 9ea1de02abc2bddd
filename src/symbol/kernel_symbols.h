/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The current symbols of the kernel: a table of /proc/kallsyms (kallsyms.h) that is read again
 * when modules or BPF programs have come or gone since and a lookup could be affected by that.
 * Reading takes some 100 ms, so it happens on demand and takes at most a twentieth of the time. One
 * thread.
 */
#include <stdatomic.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "symbol/kallsyms.h"

struct kernel_symbols;

/* Where the symbols come from; tests have their own. */
struct kernel_symbols_source {
	int (*load)(void *ctx, struct kallsyms **out);
	uint64_t (*modules)(void *ctx); /* a fingerprint of the loaded modules */
	void *ctx;
};

/*
 * @n_changes counts the BPF programs that come and go; borrowed, NULL if nobody counts. @source is
 * copied; NULL: /proc. Returns 0 or -ENOMEM.
 */
int kernel_symbols_new(struct kernel_symbols **out, const _Atomic uint32_t *n_changes,
		       const struct kernel_symbols_source *source);
void kernel_symbols_free(struct kernel_symbols *k);

DEFINE_FREEP(struct kernel_symbols, kernel_symbols_free)

/*
 * Finds the symbol that covers @address. Strings are valid until the next call. Returns 0 or
 * -ENOENT.
 */
int kernel_symbols_find(struct kernel_symbols *k, uint64_t address, uint64_t now_ns,
			struct kallsyms_symbol *out);
