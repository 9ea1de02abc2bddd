/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The members of a sampler. Only sampler.c and sampler_*.c include this file. */
#include <stdint.h>

#include "base/err.h"
#include "bpf/shared/vms.h"
#include "sampler/fault_probe.h"
#include "sampler/sampler_opts.h"
#include "unwind/tables.h"

struct attach;
struct bpf_link;
struct ring_buffer;
struct sample_bpf;
struct sched_probe;
struct walk_programs;

struct sampler {
	struct sample_bpf *skel;
	struct ring_buffer *ring;
	struct sampler_opts opts;
	/* sampler_tables.h */
	struct unwind_rule *rules;
	struct unwind_file *files;
	struct vm_tables vms;
	uint32_t *chunks[ARENA_CHUNKS_MAX]; /* NULL: not added, or returned */
	uint32_t n_chunks;

	struct walk_programs *walks;
	struct attach *events;
	struct bpf_link *exec_link, *fork_link;
	struct bpf_link *programs; /* the iterator each_program */
	struct fault_probe faults;
	struct sched_probe *off; /* NULL: not requested, or refused for the reason in off_error */
	char off_error[sizeof(((struct err *)NULL)->msg)];
	int stats_fd;
	uint64_t fixed_bytes; /* kernel memory of the maps that do not grow */
	uint32_t n_possible;
	sampler_record_fn fn;
	void *fn_ctx;
};
