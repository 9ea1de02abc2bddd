/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writes a small recording as the JDK does: one chunk with the classes, constants and events
 * that the readers' tests need. Its stack trace 1 is "a.B.leaf" line 7, "a.B.root" line 0; trace 2
 * is truncated and ends in a native function, trace 3 is in the kernel. Threads 1 and 2 are "main"
 * and "worker"; states 1 and 2 are STATE_RUNNABLE and STATE_SLEEPING.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* Ids of the events' classes. */
enum {
	JFR_FIXTURE_EXECUTION = 100,
	JFR_FIXTURE_CPU_TIME,
	JFR_FIXTURE_WALL,
	JFR_FIXTURE_ALLOC,
	JFR_FIXTURE_MONITOR,
	JFR_FIXTURE_SETTING,
	JFR_FIXTURE_OTHER, /* an event without a profile */
};

struct jfr_fixture {
	struct buf out;    /* complete after jfr_fixture_end() */
	struct buf events; /* of the chunk */
};

/* Add an event. Numbers are written in LEB128. */
void jfr_fixture_sample(struct jfr_fixture *f, unsigned int class, uint64_t thread, uint64_t stack,
			uint64_t state, uint64_t value, uint64_t context);
void jfr_fixture_setting(struct jfr_fixture *f, uint64_t id, const char *name, const char *value);

/* Ends the chunk and appends it to f->out; another chunk may follow. */
void jfr_fixture_end(struct jfr_fixture *f);
void jfr_fixture_fini(struct jfr_fixture *f);
