/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The description of a window whose samples are symbolized: a plain value that any thread may copy.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event;

/* Selects which of a window's samples go into a profile, and with which values. */
enum symbolize_mode {
	/*
	 * Samples on the CPU: samples/count and cpu/nanoseconds, or the sampled event; with
	 * several events, one sample type for each.
	 */
	SYMBOLIZE_CPU,
	SYMBOLIZE_OFF,      /* waits: off_cpu/nanoseconds and samples/count (number of waits) */
	SYMBOLIZE_RESIDENT, /* resident/bytes */
	SYMBOLIZE_ALLOC,    /* alloc_objects/count, alloc_space/bytes */
	SYMBOLIZE_LIVE,     /* the same, and inuse_objects/count, inuse_space/bytes */
	SYMBOLIZE_WALL,     /* both: samples/count, and cpu, off_cpu and wall in nanoseconds */
};

struct symbolize_window {
	int64_t time_ns; /* start, since 1970 */
	int64_t duration_ns;
	int64_t clock_offset_ns; /* difference between the samples' clock and the time since 1970 */
	uint32_t freq_hz;
	const struct event *events; /* sampled events, by index; borrowed */
	size_t n_events;            /* 0: the CPU clock, at freq_hz */
	enum symbolize_mode mode;   /* for symbolize_profile() */
	uint64_t alloc_bytes;       /* mean of the bytes between two samples of heap allocations */
	bool locks_only;            /* of the waits, include only those for a futex */
	bool per_thread;            /* append the tid to the thread label */
	/*
	 * Exclude the labels that programs publish except span_id. Servers, Pyroscope too, make a
	 * series of each distinct set of the others, whose values have no bound.
	 */
	bool span_ids_only;
};
