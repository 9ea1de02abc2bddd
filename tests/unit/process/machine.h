/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A process table over plain memory, without a kernel side: the functions of sampler.h that it
 * calls are defined here and record their arguments. The tests of process/ and profiler/ use it.
 */
#include <stdbool.h>
#include <stdint.h>

#include "bpf/shared/abi.h"
#include "bpf/shared/offcpu.h"
#include "process/file_table.h"
#include "process/process_table.h"
#include "sampler/sampler.h"

enum { MACHINE_PIDS = 512 };

/* The state of a process that was last passed to the sampler. */
struct published {
	uint32_t pid;
	bool is_there; /* added and not removed since */
	bool has_ended;
	bool is_target;
	struct unwind_process process;
	struct selection selection;
	uint32_t n_selections; /* calls of sampler_select() */
};

struct sampler {
	struct published of[MACHINE_PIDS];
	uint32_t n;
	/* The executable that was put last, and how many were. */
	struct executable_key executable_key;
	struct executable executable;
	uint32_t n_executables, n_executables_removed;
	bool by_rules;
	uint32_t expected; /* languages of sampler_expect() */
	/* The result of sampler_get_thread(), which returns -ENOENT if its tid is 0. */
	struct off_thread thread;
	/* The programs that sampler_each_program() reports. */
	struct record_header programs[8];
	uint32_t n_programs;
	/* Probes at functions of allocators: files, calls for each part, and their result. */
	uint32_t n_alloc_files, n_attached[ALLOC_PROBE_PARTS];
	int attach_result;
	uint64_t n_alloc_calls; /* that sampler_stats() returns */
};

struct machine {
	struct sampler sampler;
	struct unwind_rule *rules;
	struct unwind_file *unwind_files;
	uint32_t generation;
	uint32_t *chunk;
	struct unwind_tables *tables;
	struct role_pool *readers;
	struct file_table *files;
	struct process_table *processes;
};

void machine_init(struct machine *m);
void machine_fini(struct machine *m);

/* Returns the published state of @pid; never NULL. */
struct published *machine_published(struct sampler *s, uint32_t pid);

/* Returns a reference to the file @path as a mapping of this process at @start has it. */
struct file_ref machine_file_ref(const char *path, uint64_t start);
