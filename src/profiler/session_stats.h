/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Counts of a recording since its start. */
#include <stddef.h>
#include <stdint.h>

#include "process/process_table.h"
#include "profiler/alloc_recording.h"
#include "profiler/allocs.h"
#include "profiler/record_decoder.h"
#include "profiler/resident.h"
#include "sampler/sampler.h"
#include "unwind/tables.h"

struct session_stats {
	struct sampler_stats sampler;
	struct process_table_stats procs;
	struct unwind_tables_stats tables;
	struct record_decoder_stats records;
	struct resident_stats resident;
	struct allocs_stats allocs;
	struct alloc_recording_stats probes; /* at functions of allocators */
	size_t backlog_bytes;                /* queued records */
	uint64_t sideband_bytes;             /* rings of process events */
	uint64_t n_cpu_errors;      /* attempts to follow CPUs that failed and were repeated */
	uint64_t n_reader_failures; /* requests for unwind tables that readers failed to answer */
	/*
	 * Readers of language runtimes that died, or were killed because they exceeded their time
	 * or sent an invalid reply.
	 */
	uint64_t n_lang_readers_lost;
	uint64_t n_late;       /* requests to readers whose reply was not waited for any longer */
	uint64_t n_files_full; /* files that found no id */
	uint64_t n_vms_full;   /* language runtimes that found no room in the tables of the walk */
};
