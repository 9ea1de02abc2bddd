/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Recordings of the JDK's Flight Recorder and of async-profiler, which writes the same format. A
 * recording holds several profiles: CPU time, wall-clock time, allocations, live objects, locks.
 * The following events are read; others contain no profile.
 *
 * | event | profile |
 * | --- | --- |
 * | jdk.ExecutionSample | CPU time; wall-clock time if async-profiler's event is "wall" |
 * | jdk.CPUTimeSample | CPU time, in place of jdk.ExecutionSample |
 * | profiler.WallClockSample | wall-clock time |
 * | jdk.ObjectAllocationInNewTLAB, …OutsideTLAB, …Sample | allocations |
 * | profiler.Malloc, profiler.LiveObject | native allocations, live objects |
 * | jdk.JavaMonitorEnter, jdk.ThreadPark | waiting for locks |
 *
 * Names of profiles and types are those of Pyroscope (jfr_kinds.def).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/common/format_codec.h"

struct codec_limits;
struct err;
struct jfr_labels;
struct profile;

enum { JFR_PROFILES_MAX = 10, JFR_EVENT_MAX = 32 };

struct jfr_options {
	int64_t period_ns; /* of samples of CPU and wall-clock time; 0: as the recording says */
	bool threads;      /* samples have the label "thread" */
	const struct jfr_labels *labels; /* of contexts; NULL: none */
};

/* The profiles of a recording, of which none is empty. */
struct jfr_profiles {
	struct {
		const char *name;  /* "process_cpu"; constant */
		struct profile *p; /* owned; the reader of a result may take it and set NULL */
	} all[JFR_PROFILES_MAX];
	size_t n;
	char event[JFR_EVENT_MAX]; /* async-profiler's event, "cpu", "wall"; "" if unknown */
};

void jfr_profiles_fini(struct jfr_profiles *r);

/*
 * Reads an untrusted recording. Where neither it nor @opt has the sampling period, the values of
 * CPU and wall-clock time are numbers of samples. Returns 0 and *@out, which the caller frees;
 * -EBADMSG, -EFBIG or -ENOTSUP with the reason in @err; -ENOMEM. @limits may be NULL.
 */
int jfr_read_profiles(struct jfr_profiles *out, const void *data, size_t len,
		      const struct jfr_options *opt, const struct codec_limits *limits,
		      struct err *err);

/* The codec: all profiles of a recording as one, with the sample types of each. */
enum format_match jfr_detect(const void *data, size_t len);
int jfr_read(struct profile **out, const void *data, size_t len, const struct codec_limits *limits,
	     struct err *err);
