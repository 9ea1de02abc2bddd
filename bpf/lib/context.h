/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Reads the context of the sampled thread (trace, span, labels) with the readers of
 * bpf/shared/contexts.def, and appends it to the record. It is read after the stack, while the
 * thread is still stopped.
 */
#include "bpf/lib/walk_state.h"
#include "bpf/shared/context.h"

/* The builds define this: the layout of this index, or NULL. */
static __always_inline const struct context_layout *context_layout_get(__u32 layout);

#include "bpf/lib/context/custom.h"
#include "bpf/lib/context/golang.h"
#include "bpf/lib/context/otel.h"

static __always_inline void context_read_slot(struct walk *w, __u32 which, __u32 slot)
{
	const struct context_layout *layout =
		context_layout_get(CONTEXT_SLOT_LAYOUT(w->process.contexts[slot]));

	if (!layout)
		return;
	w->context.kind = layout->kind;
	w->context.slot = slot;
	switch (layout->kind) {
#define X(sym, name)                                                                               \
	case CONTEXT_##sym:                                                                        \
		name##_context(which, slot);                                                       \
		break;
#include "bpf/shared/contexts.def"
#undef X
	}
}

/* Fills w->context from the first file of the process that has a context; len 0: there is none. */
static __always_inline void context_read(struct walk *w, __u32 which)
{
	w->context.len = 0;
	w->context.n_dropped = 0;
	for (__u32 i = 0; i < CONTEXT_SLOTS_MAX && !w->context.len; i++)
		if (w->process.contexts[i])
			context_read_slot(w, which, i);
}
