/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The description of a program in a process, and the counters of the table of all of them. */
#include <stdint.h>

#include "bpf/shared/abi.h"

struct process {
	uint32_t pid;
	uint32_t ppid; /* 0: unknown */
	/*
	 * CLOCK_MONOTONIC times at which this program started and ended in this process; start_ns
	 * is 0 if it ran before the scan, end_ns is 0 while it runs.
	 */
	uint64_t start_ns, end_ns;
	struct program_id id; /* id.start_ns is 0 while it is unknown */
	char comm[16];        /* "" if unknown */
	uint32_t exe;         /* file id of the main program, FILE_ID_NONE if unknown */
};

struct process_table_stats {
	uint32_t n_running;
	uint64_t n_recorded; /* processes with records; one that calls exec is counted once */
	uint64_t n_sideband_lost;
	uint64_t n_corrected;      /* programs whose start or exit was not in the side-band */
	uint64_t n_decisions;      /* of rules, about which programs are profiled */
	uint64_t mappings_bytes;   /* of all programs' mappings */
	uint64_t n_mappings_full;  /* mappings, or attempts to publish them, without room */
	uint64_t n_processes_full; /* processes that found no room in the BPF map of processes */
};
