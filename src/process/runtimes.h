/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The language runtimes among a process's mappings: their kinds, their load biases, and the places
 * of the code that they generate. It maintains the part of struct unwind_process that describes
 * them; the knowledge of each runtime is in src/lang. One thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "bpf/shared/abi.h"

struct file_table;
struct langs;
struct mapping_set;
struct unwind_tables;

/* The process that is being examined. */
struct runtimes_context {
	struct langs *langs; /* NULL: runtimes are not queried */
	const struct file_table *files;
	struct unwind_tables *tables;
	struct mapping_set **maps;
	uint32_t pid;
};

/* State of the search for generated code. A forked child starts with a copy of its parent's. */
struct runtimes {
	bool attached; /* generated code is among the mappings */
	uint32_t tries;
};

/* Fills in the runtime fields of *@out. */
void runtimes_describe(const struct runtimes *r, const struct file_table *files,
		       const struct mapping_set *maps, struct unwind_process *out);

/* Fills in the contexts of *@out: the mapped files that publish what threads work on. */
void runtimes_find_contexts(const struct file_table *files, const struct mapping_set *maps,
			    struct unwind_process *out);

/* Call this when the mappings were reread: they lack generated code again. */
void runtimes_detach(struct runtimes *r);

/*
 * Adds the regions of generated code to *context->maps, unless that was done, there is none,
 * or the runtime was queried too often.
 */
void runtimes_attach(struct runtimes *r, const struct runtimes_context *context, uint64_t now_ns);

/*
 * Returns what to add to virtual addresses of runtime @vm's file to get addresses in the
 * process; 0 if unknown.
 */
uint64_t runtimes_bias(const struct file_table *files, const struct mapping_set *maps, uint32_t vm);
