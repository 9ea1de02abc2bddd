/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The samples of a window that belong to a span or a trace. Their labels span_id and trace_id begin
 * no series (series.h), because the number of their values has no limit; a store indexes these
 * samples next to the window instead.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "store/store.h"
#include "store/window.h"

struct profile;

/*
 * Samples of one window. A window with more is stored without an index rather than refused: its
 * values are complete, and only queries for spans and traces miss it.
 */
enum { TRACED_MAX = 1 << 16 };

struct traced_sample {
	struct store_trace_id id;
	struct window_entry entry;
};

struct traced_samples {
	VEC(struct traced_sample);
};

/*
 * Reads 16 hexadecimal digits, a span's id, or 32, a trace's. Returns false for anything else, and
 * for zeros, which stand for no span.
 */
bool traced_parse_id(const char *text, size_t len, struct store_trace_id *out);

/*
 * Replaces @out by the samples among @e that have an id, sorted by id, then by node. A sample with
 * both ids is in it twice. Leaves @out empty if there are more than TRACED_MAX. Returns 0 or
 * -ENOMEM.
 */
int traced_samples_of(struct traced_samples *out, const struct profile *p,
		      const struct window_entry *e, size_t n);
