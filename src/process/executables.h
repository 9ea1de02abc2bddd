/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The executables that are interpreters, published for the walk in the kernel. By its executable,
 * the walk can read the interpreter's frames of a new process before the agent has read the
 * process's mappings. One thread.
 */
#include "base/vec.h"
#include "bpf/shared/abi.h"

struct file_table;
struct mapping_set;
struct sampler;

struct executables {
	VEC(struct known_executable);
};

/* The executable of a process. */
struct known_executable {
	struct executable_key key;
	uint32_t file;
	uint64_t serial; /* of the file (struct file_info); executables_note() sets it */
};

void executables_fini(struct executables *x);

/**
 * executables_note() - make the executable of a process known, if it is an interpreter
 *
 * @maps and @description are those of process @pid, whose executable is @own. Nothing is done for
 * one that is known, or whose code is not where it was expected.
 */
void executables_note(struct executables *x, struct sampler *s, const struct file_table *files,
		      const struct known_executable *own, const struct mapping_set *maps,
		      const struct unwind_process *description, uint32_t pid);

/* Forgets executables whose files are no longer in use. */
void executables_reap(struct executables *x, struct sampler *s, const struct file_table *files);
