/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * OpenTelemetry's thread context (OTEP 4947): a thread-local pointer to a record with the trace's
 * and span's ids and attributes. The thread that is sampled is the record's only writer.
 */
#include "bpf/lib/context/tls.h"

WALK_FN int otel_context(__u32 which, __u32 slot)
{
	struct walk *w = walk_get(which);
	const struct context_layout *layout;
	__u64 at, record = 0;
	__u64 n;

	if (!w || slot >= CONTEXT_SLOTS_MAX)
		return 0;
	layout = context_layout_get(CONTEXT_SLOT_LAYOUT(w->process.contexts[slot]));
	if (!layout)
		return 0;
	at = context_variable(w, layout, CONTEXT_SLOT_BIAS(w->process.contexts[slot]));
	if (!at || read_user(&record, sizeof(record), at) || !record ||
	    read_user(&w->context.otel, CONTEXT_OTEL_HEAD, record) || w->context.otel.valid != 1)
		return 0;
	n = w->context.otel.attributes_len[0] | w->context.otel.attributes_len[1] << 8;
	n = at_most(n, CONTEXT_OTEL_ATTRIBUTES);
	if (n && read_user(w->context.otel.attributes, n, record + CONTEXT_OTEL_HEAD)) {
		w->context.n_dropped = 1;
		n = 0;
	}
	w->context.len = CONTEXT_OTEL_HEAD + n;
	return 0;
}
