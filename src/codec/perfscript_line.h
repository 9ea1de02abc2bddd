/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The lines of `perf script`, cut into their parts. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/text_reading.h"

struct perfscript_sample {
	struct text comm, event; /* the event without its modifiers: "cycles" of "cycles:pp" */
	bool has_pid, has_period;
	int64_t pid, tid, period;
	struct text rest; /* behind the event: a frame, or what a tracepoint tells */
};

struct perfscript_frame {
	uint64_t address;
	struct text name; /* empty: not known */
	struct text file; /* empty: not known */
	bool inlined;     /* into the frame of the next line */
};

/* Is this the line of a sample, or of its frame? */
bool perfscript_sample(struct text line, struct perfscript_sample *out);
bool perfscript_frame(struct text line, struct perfscript_frame *out);
