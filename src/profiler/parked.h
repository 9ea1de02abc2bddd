/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Raw records that wait until the unwind table of a file has been made. The process runs on
 * meanwhile, so what a later walk needs of its stack is copied when a record is parked. Memory is
 * bounded, and so is the part of it that one process gets. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "bpf/shared/abi.h"
#include "unwind/walk.h"

struct outer_stack;

struct parked_record {
	uint32_t file;      /* whose table is missing */
	uint64_t since_ns;  /* when it was parked (CLOCK_MONOTONIC) */
	unsigned int flags; /* enum record_decoder_flags */
	struct raw_record *record;
	size_t len;
	struct unwind_rest rest;
	struct outer_stack *outer; /* may be NULL */
	size_t bytes;              /* of memory */
};

/* Zeros, except for the limit, are an empty list. */
struct parked {
	struct {
		VEC(struct parked_record *);
	} records; /* in the order in which they were parked first */
	size_t bytes, max_bytes;
	uint64_t n; /* parked since the start */
};

void parked_fini(struct parked *p);

/* Reads the memory of the process of a record: 0, or a negative number. */
typedef int (*parked_read_fn)(void *ctx, uint64_t addr, void *dst, size_t len);

/*
 * Copies @record and the stack above its copy, unless @read is NULL, and takes the parts of its
 * stack, *@outer, which may be NULL. Returns the parked record, which parked_put() keeps; NULL if
 * there is no room for it.
 */
struct parked_record *parked_new(struct parked *p, const struct raw_record *record, size_t len,
				 struct outer_stack **outer, parked_read_fn read, void *ctx);

/*
 * Keeps @r, which was not in the list: new, or taken before. Returns 0, or -ENOMEM: it is not kept.
 */
int parked_put(struct parked *p, struct parked_record *r);
void parked_free(struct parked *p, struct parked_record *r);

/* Takes all records out of the list, for the caller to put back or free. */
struct parked_record **parked_take_all(struct parked *p, size_t *out_n);

/* Time of the oldest record (from its header); UINT64_MAX if there is none. */
uint64_t parked_since_ns(const struct parked *p);
