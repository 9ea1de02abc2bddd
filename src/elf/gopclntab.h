/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Go's run-time function table (.gopclntab), which every Go program carries,
 * stripped or not: function ranges, names, files, lines, the inline tree and
 * the stack depth at each instruction. Versions 1.2, 1.16, 1.18 and 1.20 of
 * the format (Go 1.2 to 1.26). Source: runtime/symtab.go and
 * internal/abi/symtab.go of each release. The table is a stranger's: every
 * offset is checked.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct elf_image;
struct err;
struct gopclntab;

struct gopclntab_func {
	uint64_t start, end; /* addresses in the file's terms */
	const char *name;    /* borrowed from the image */
	uint32_t index;
	uint8_t flags; /* enum gopclntab_flags; none before Go 1.17 */
};

enum gopclntab_flags {
	GOPCLNTAB_TOP_FRAME = 1u << 0, /* a stack ends here */
	GOPCLNTAB_SP_WRITE = 1u << 1,  /* moves to another stack; stack depths do not say how */
	GOPCLNTAB_ASM = 1u << 2,
};

/*
 * One frame at a pc, innermost first; strings are borrowed from the table (""
 * where it does not say), names as the linker has them ("f[go.shape.int]").
 */
struct gopclntab_frame {
	const char *function;
	const char *file;
	uint32_t line;
	uint32_t start_line;
};

enum { GOPCLNTAB_FRAMES_MAX = 64 };

/*
 * Finds and checks the table; keeps @img, which must outlive it. -ENOENT: no
 * Go here; -EBADMSG: there is, but what it refers to is not found; -ENOMEM.
 */
int gopclntab_open(struct gopclntab **out, const struct elf_image *img, struct err *err);
void gopclntab_free(struct gopclntab *t);

DEFINE_FREEP(struct gopclntab, gopclntab_free)

size_t gopclntab_count(const struct gopclntab *t);
int gopclntab_func_at(const struct gopclntab *t, size_t i, struct gopclntab_func *out);
int gopclntab_find(const struct gopclntab *t, uint64_t vaddr, struct gopclntab_func *out);

/*
 * The frames at @vaddr with inlined calls expanded: number of them (>= 1), or
 * -ENOENT. For a return address ask for the instruction before it (-1).
 */
int gopclntab_frames(const struct gopclntab *t, uint64_t vaddr, struct gopclntab_frame *out,
		     size_t out_cap);

/*
 * Calls @fn for each run of equal stack depth in function @i, in order, until
 * it returns non-zero, which is returned. A function without the table (C in
 * a Go program) has no runs.
 */
typedef int (*gopclntab_spdelta_fn)(void *ctx, uint64_t start, uint64_t end, int32_t sp_delta);
int gopclntab_spdeltas(const struct gopclntab *t, size_t i, gopclntab_spdelta_fn fn, void *ctx);
