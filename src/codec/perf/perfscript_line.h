/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Splits the lines of `perf script` into their fields, which are borrowed from the line. */
#include <stdbool.h>
#include <stdint.h>

#include "codec/common/text_read.h"

/*
 * Fields that a line does not have are empty or marked as missing. pid is only valid with has_pid:
 * perf prints the thread's id alone by default.
 */
struct perfscript_sample {
	struct text comm, event; /* the event without its modifiers: "cycles" of "cycles:pp" */
	bool has_pid, has_period;
	int64_t pid, tid, period;
	struct text rest; /* after the event: a frame, or the fields of a tracepoint */
};

struct perfscript_frame {
	uint64_t address;
	struct text name; /* empty: unknown */
	struct text file; /* empty: unknown */
	bool inlined;     /* into the frame of the next line */
};

/*
 * Parse the first line of a sample, or the line of a frame, without its line break. False: the line
 * is of another kind, and *@out is undefined. No line is an error here; the reader decides.
 */
bool perfscript_sample(struct text line, struct perfscript_sample *out);
bool perfscript_frame(struct text line, struct perfscript_frame *out);
