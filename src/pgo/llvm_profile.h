/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A sample profile in LLVM's text format, which `clang -fprofile-sample-use` reads: for each
 * function the counts of its lines by distance from the line where it begins, with those of the
 * calls that were inlined in it nested below their line.
 *
 * Counts are samples of addresses: without branch records of the processor it is not known how
 * often a function was called. The count at its first line, where it begins, stands for that.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct buf;
struct llvm_profile;

/* One function at an address, as debug information has it. */
struct llvm_frame {
	const char *name; /* as in the symbol table (mangled) */
	uint32_t line, start_line;
	uint32_t discriminator;
};

/* Returns 0 or -ENOMEM. */
int llvm_profile_new(struct llvm_profile **out);
void llvm_profile_free(struct llvm_profile *p);

DEFINE_FREEP(struct llvm_profile, llvm_profile_free)

/**
 * llvm_profile_add() - add @count samples at an address
 *
 * @frames: the function that was hit and those that it was inlined into, innermost first.
 *
 * Return: 0; -ENODATA, with nothing added, if a frame has no line or no line where it begins;
 * -ENOMEM.
 */
int llvm_profile_add(struct llvm_profile *p, const struct llvm_frame *frames, size_t n,
		     uint64_t count);

/* The number of functions that were not inlined. */
size_t llvm_profile_n_functions(const struct llvm_profile *p);

/* Appends the text, functions with the greatest counts first. Check buf_error() of @out. */
int llvm_profile_write(const struct llvm_profile *p, struct buf *out);
