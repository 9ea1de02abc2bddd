/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The probes at one file's functions of an allocator, in one process. They are attached to the
 * process alone, so that others that map the file run no probe; the kernel removes them from a
 * child when it first meets one. They remain when the process executes another program that maps
 * the file. A helper of sampler.c; it runs on the sampler's thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/allocators.h"

struct sample_bpf;

/* The functions to probe, and in which process. */
struct alloc_place {
	uint32_t pid;
	int fd;        /* of the file; borrowed during the call */
	uint32_t file; /* number of the file's ranges: alloc_probe_set_file() */
	const struct allocator_function *functions;
	size_t n;
	bool frees; /* probe returns and free() too */
};

/* The parts of a probe, which may be detached alone: frees are followed while the rest pauses. */
enum alloc_probe_part {
	ALLOC_PROBE_ALLOCS,
	ALLOC_PROBE_FREES,
	ALLOC_PROBE_PARTS,
};

/* Publishes the functions of file number @file, below ALLOC_FILES_MAX. Returns 0 or -errno. */
int alloc_probe_set_file(struct sample_bpf *skel, uint32_t file,
			 const struct allocator_function *functions, size_t n);

/*
 * Attaches @part of the probes at @place; the descriptors that hold them are stored in @fds, which
 * has room for 2 * ALLOCATOR_FUNCTIONS_MAX of them, from *@io_n on. Returns 0; or -errno, with the
 * probes that exist. -ESRCH: the process has ended.
 */
int alloc_probe_attach(struct sample_bpf *skel, const struct alloc_place *place,
		       enum alloc_probe_part part, int *fds, size_t *io_n);
