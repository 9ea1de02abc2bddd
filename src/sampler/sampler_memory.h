/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The kernel memory of a sampler's maps. */
#include <stdbool.h>
#include <stdint.h>

struct err;
struct sampler;
struct sampler_opts;

/* Kernel memory of the maps that sampler_open() makes, without the ring and unwind tables. */
struct sampler_memory {
	uint64_t fixed_bytes;
	uint64_t per_cpu_bytes; /* for each possible CPU, in addition */
	uint32_t n_cpus;        /* possible CPUs */
};

/* Calculates it for @opts without loading anything. Returns 0 or -errno. */
int sampler_memory(const struct sampler_opts *opts, struct sampler_memory *out, struct err *err);

/*
 * Bytes that the maps of @s occupy: those whose entries are allocated by need (@are_sparse), or all
 * others.
 */
uint64_t sampler_maps_bytes(const struct sampler *s, bool are_sparse);
