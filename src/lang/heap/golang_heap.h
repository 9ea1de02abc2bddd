/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads, from the memory of a running process, the heap profile that Go's runtime records in every
 * program that contains code to write it. The result is the profile that the program's
 * /debug/pprof/heap would return at that moment, with the same scaling.
 *
 * The structures are untrusted and change while they are read. Records, frames and reads are
 * limited; what is missing is counted.
 */
#include <stdint.h>

struct golang_heap_program;
struct profile;
struct task_memory;

enum { GOLANG_HEAP_RECORDS_MAX = 500000 };

/* No padding: it is sent unchanged. */
struct golang_heap_counts {
	char version[24];      /* of Go: "1.26.1" */
	int64_t rate;          /* runtime.MemProfileRate, in bytes; 1: all allocations; 0: off */
	uint64_t n_records;    /* that were read */
	uint64_t n_invalid;    /* records that cannot belong to a heap profile; they are omitted */
	uint64_t n_changed;    /* records that changed every time they were read */
	uint32_t is_cut;       /* the list was not read to its end */
	uint32_t is_published; /* 0: no collection of garbage has ended, so all counts are recent */
};

/*
 * Adds sample types, metadata and samples to the new profile @out.
 *
 * Return: 0; -EFAULT if the list cannot be read; -ELOOP if it is circular; -ENOMEM.
 */
int golang_heap_read(const struct golang_heap_program *p, struct task_memory *m,
		     struct profile *out, struct golang_heap_counts *counts);
