/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Go's runtime function table (.gopclntab), which every Go program has, stripped or not: function
 * ranges, names, files, lines, the inline tree and the stack depth at each instruction. Reads the
 * versions 1.2, 1.16, 1.18 and 1.20 of the format (Go 1.2 to 1.27; source: runtime/symtab.go and
 * internal/abi/symtab.go of each release). The table may be hostile: every offset is checked.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct elf_image;
struct err;
struct gopclntab;

struct gopclntab_func {
	uint64_t start, end; /* addresses as linked */
	const char *name;    /* borrowed from the image */
	uint32_t index;
	uint8_t flags; /* enum gopclntab_flags; none before Go 1.17 */
};

enum gopclntab_flags {
	GOPCLNTAB_TOP_FRAME = 1u << 0, /* the function is the outermost of its stack */
	GOPCLNTAB_SP_WRITE =
		1u << 1, /* switches to another stack, which the stack depths do not describe */
	GOPCLNTAB_ASM = 1u << 2,
};

/*
 * One frame at a pc, innermost first. Strings are borrowed from the table ("" where it has none);
 * names are the linker's ("f[go.shape.int]").
 */
struct gopclntab_frame {
	const char *function;
	const char *file;
	uint32_t line;
	uint32_t start_line;
};

enum { GOPCLNTAB_FRAMES_MAX = 64 };

/*
 * Finds and checks the table; keeps @img, which must outlive it. Returns -ENOENT if there is no Go
 * table; -EBADMSG if what it refers to was not found; -ENOMEM.
 */
int gopclntab_open(struct gopclntab **out, const struct elf_image *img, struct err *err);
void gopclntab_free(struct gopclntab *t);

DEFINE_FREEP(struct gopclntab, gopclntab_free)

size_t gopclntab_count(const struct gopclntab *t);
int gopclntab_func_at(const struct gopclntab *t, size_t i, struct gopclntab_func *out);
int gopclntab_find(const struct gopclntab *t, uint64_t vaddr, struct gopclntab_func *out);

/*
 * Expands the inlined calls at @vaddr into frames. Returns their number (>= 1), or -ENOENT. For a
 * return address pass the address - 1.
 */
int gopclntab_frames(const struct gopclntab *t, uint64_t vaddr, struct gopclntab_frame *out,
		     size_t out_cap);

/*
 * Calls @fn for each run of equal stack depth in function @i, in order, until it returns non-zero,
 * which is then returned. A function without that table (C code in a Go program) has no runs.
 */
typedef int (*gopclntab_spdelta_fn)(void *ctx, uint64_t start, uint64_t end, int32_t sp_delta);
int gopclntab_spdeltas(const struct gopclntab *t, size_t i, gopclntab_spdelta_fn fn, void *ctx);
