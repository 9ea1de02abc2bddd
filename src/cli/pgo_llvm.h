/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Makes the sample profile for LLVM of one executable. */
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct profile;

struct pgo_llvm {
	const struct profile *p;
	size_t value_num;
	uint32_t file;    /* string id of the executable's path */
	const char *path; /* path of the executable; NULL: the recorded one */
	uint64_t period;  /* divisor that converts values to numbers of samples; at least 1 */

	/* Results. */
	uint64_t n_samples; /* that hit the executable */
	uint64_t n_used;    /* of them, with lines */
	size_t n_functions;
};

/*
 * Appends the profile's text to @out. opener_start() must have been called. Returns 0; -ENODATA if
 * no sample has a line; -errno; with the reason.
 */
int pgo_llvm_make(struct pgo_llvm *m, struct buf *out, struct err *err);
