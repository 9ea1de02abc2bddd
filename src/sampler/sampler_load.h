/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Opens and loads the BPF object of a sampler whose options and number of CPUs are set. */
#include <stdbool.h>
#include <stdint.h>

struct err;
struct sampler;

/*
 * Opens the BPF object, with the programs for @lists of runtimes or without, and sets what must be
 * known before it is loaded. Returns 0 or -errno.
 */
int sampler_prepare(struct sampler *s, bool lists, struct err *err);

/*
 * Loads the programs. If off-CPU time was requested in addition to samples and its programs
 * are refused, the sampler works without them; sampler_offcpu_error() returns the reason.
 * Returns 0, or the kernel's -errno with the remedy in @err.
 */
int sampler_load(struct sampler *s, struct err *err);

/* Size of the ring buffer. */
uint32_t sampler_ring_bytes(const struct sampler *s);
