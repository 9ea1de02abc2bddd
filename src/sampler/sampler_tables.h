/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The maps of a sampler that user space writes through shared memory: unwind tables, and the
 * descriptions of runtimes.
 */
#include <stdint.h>

#include "bpf/shared/vms.h"
#include "unwind/tables.h"

struct err;
struct sampler;

/* The memory that unwind_tables_new() writes to; valid as long as @s. */
void sampler_tables_memory(struct sampler *s, struct unwind_tables_memory *out);

/*
 * The shared tables that describe language runtimes to the walk, VM_TABLE_MAX entries for
 * each language.
 */
void sampler_vm_tables(struct sampler *s, struct vm_tables *out);

/* Maps the tables of a loaded sampler. Returns 0 or -errno. */
int sampler_map_tables(struct sampler *s, struct err *err);

/* Unmaps what is mapped, all chunks of the unwind tables included. */
void sampler_unmap_tables(struct sampler *s);

/* Bytes of the unwind tables that are mapped. */
uint64_t sampler_mapped_tables_bytes(const struct sampler *s);
