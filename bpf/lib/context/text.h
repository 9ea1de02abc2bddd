/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/* Labels whose keys and values are texts in the memory of the process. */
#include "bpf/lib/walk_state.h"
#include "bpf/shared/context.h"

struct context_text {
	__u64 at, len;
};

struct context_texts {
	struct context_text key, value;
};

/*
 * Appends a label. A value is cut to CONTEXT_VALUE_BYTES and counted; a label that cannot be read,
 * has an empty or a longer key than CONTEXT_KEY_BYTES, or is one too many, is counted only.
 */
static __always_inline void context_add(struct walk *w, const struct context_texts *t)
{
	__u32 n = bounded_here(w->context.len / sizeof(struct context_label));
	__u32 key_len = t->key.len, value_len = t->value.len;
	struct context_label *label;

	if (t->value.len > CONTEXT_VALUE_BYTES)
		value_len = CONTEXT_VALUE_BYTES;
	if (n >= CONTEXT_LABELS_MAX || !t->key.len || t->key.len > CONTEXT_KEY_BYTES) {
		w->context.n_dropped++;
		return;
	}
	label = &w->context.labels[n];
	key_len = bounded_here(key_len);
	value_len = bounded_here(value_len);
	if (key_len > CONTEXT_KEY_BYTES || value_len > CONTEXT_VALUE_BYTES)
		return;
	label->key_len = key_len;
	label->value_len = value_len;
	if (read_user(label->key, key_len, t->key.at) ||
	    (value_len && read_user(label->value, value_len, t->value.at))) {
		w->context.n_dropped++;
		return;
	}
	w->context.n_dropped += t->value.len > CONTEXT_VALUE_BYTES;
	w->context.len = (n + 1) * sizeof(struct context_label);
}
