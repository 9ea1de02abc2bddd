/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The virtual machines among a process's mappings: which they are, where their files lie, and
 * where the code is that they generate. One thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "bpf/shared/abi.h"

struct files;
struct langs;
struct mapset;
struct unwind_tables;

/* The process whose machines they are. */
struct machines_of {
	struct langs *langs; /* NULL: nothing is asked */
	const struct files *files;
	struct unwind_tables *tables;
	struct mapset **maps;
	uint32_t pid;
};

/* How far a process has told where its generated code is; a child's begins as its parent's. */
struct machines {
	bool attached; /* that is among the mappings */
	uint32_t tries;
};

/* Fill what the walk is to know of them in @out. */
void machines_put(const struct machines *m, const struct files *files, const struct mapset *maps,
		  struct unwind_process *out);

/* Its mappings are read anew: what it generates is not among them. */
void machines_detach(struct machines *m);

/* Add the code that a machine generates to *of->maps, unless that was done or there is none. */
void machines_attach(struct machines *m, const struct machines_of *of, uint64_t now_ns);

/* What is added to the addresses of machine @vm's file; 0: not known. */
uint64_t machines_bias(const struct files *files, const struct mapset *maps, uint32_t vm);
