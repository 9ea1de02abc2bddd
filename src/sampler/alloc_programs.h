/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The programs at functions of allocators (bpf/lib/allocs.h): selects them and fills in the
 * constants of byte sampling. A helper of sampler.c; it runs on the sampler's thread.
 */
#include <stdint.h>

struct err;
struct sample_bpf;
struct sampler_opts;

/* The mean of bytes between two samples, by default and at most. */
#define ALLOC_MEAN_BYTES     (512ULL << 10)
#define ALLOC_MEAN_BYTES_MAX (1ULL << 30)

/* Returns 0; -ENOTSUP with the reason if the kernel is too old. */
int alloc_programs_check(struct err *err);

/* Selects the programs between opening and loading the BPF object: none without opts->allocs. */
void alloc_programs_prepare(struct sample_bpf *skel, const struct sampler_opts *opts);

/*
 * Fills in the quantiles of an exponential distribution with this mean, at equal distances of
 * probability. The last is chosen so that the mean of values interpolated between them is right.
 */
void alloc_programs_gaps(uint64_t mean_bytes, uint64_t *out, uint32_t n_cells);
