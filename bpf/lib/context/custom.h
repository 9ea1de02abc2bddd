/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Custom labels, version 1 of the ABI of polarsignals/custom-labels: a thread-local pointer to a
 * set {array, count, capacity} of labels, which are pairs of {length, address}. The first of equal
 * keys counts.
 */
#include "bpf/lib/context/text.h"
#include "bpf/lib/context/tls.h"

enum { CUSTOM_LABELS_MAX = 64 };

struct custom_set {
	__u64 at, n;
};

/* A text as the ABI has it. */
struct custom_text {
	__u64 len, at;
};

struct custom_label {
	struct custom_text key, value;
};

static __always_inline void custom_add_all(struct walk *w, const struct custom_set *set)
{
	struct custom_label label = {};
	struct context_texts t = {};

	for (__u32 i = 0; i < CONTEXT_LABELS_MAX && i < set->n; i++) {
		if (read_user(&label, sizeof(label), set->at + i * sizeof(label)))
			return;
		t.key.at = label.key.at;
		t.key.len = label.key.len;
		t.value.at = label.value.at;
		t.value.len = label.value.len;
		if (t.key.at)
			context_add(w, &t);
	}
}

WALK_FN int custom_context(__u32 which, __u32 slot)
{
	struct walk *w = walk_get(which);
	const struct context_layout *layout;
	struct custom_set set = {};
	__u64 at, current = 0;

	if (!w || slot >= CONTEXT_SLOTS_MAX)
		return 0;
	layout = context_layout_get(CONTEXT_SLOT_LAYOUT(w->process.contexts[slot]));
	if (!layout)
		return 0;
	at = context_variable(w, layout, CONTEXT_SLOT_BIAS(w->process.contexts[slot]));
	if (!at || read_user(&current, sizeof(current), at) || !current ||
	    read_user(&set, sizeof(set), current) || set.n > CUSTOM_LABELS_MAX)
		return 0;
	if (set.n > CONTEXT_LABELS_MAX)
		w->context.n_dropped += set.n - CONTEXT_LABELS_MAX;
	custom_add_all(w, &set);
	return 0;
}
