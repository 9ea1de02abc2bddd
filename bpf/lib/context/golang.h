/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Go's profiler labels, which runtime/pprof.Do() and SetGoroutineLabels() put into the goroutine.
 * The thread's g is in thread-local memory. On the stacks of the scheduler and of signal handlers
 * that is another g; m.curg of its m then leads to the goroutine's.
 *
 * Since Go 1.24 labels are a slice of pairs of strings, before that a map[string]string, of which
 * maps of one bucket are read: up to 8 labels.
 */
#include "bpf/lib/context/text.h"
#include "bpf/lib/context/tls.h"

enum {
	GO_MAP_BUCKETS_SHIFT = 9, /* hmap.B, a byte */
	GO_MAP_BUCKETS = 16,      /* hmap.buckets */
	GO_BUCKET_SLOTS = 8,
	GO_HASH_MIN = 5, /* smaller marks are of empty or moved slots */
	GO_LABELS_MAX = 64,
};

struct go_slice {
	__u64 at, len, cap;
};

/* Returns the labels of the goroutine that the thread runs; 0: none. */
static __always_inline __u64 golang_labels(const struct walk *w,
					   const struct context_layout *layout, __u64 bias)
{
	__u64 at = context_variable(w, layout, bias), g = 0, labels = 0, m = 0, own = 0;

	if (!at || read_user(&g, sizeof(g), at) || !g ||
	    read_user(&labels, sizeof(labels), g + layout->g_labels))
		return 0;
	if (labels)
		return labels;
	if (read_user(&m, sizeof(m), g + layout->g_m) || !m ||
	    read_user(&own, sizeof(own), m + layout->m_curg) || !own || own == g ||
	    read_user(&labels, sizeof(labels), own + layout->g_labels))
		return 0;
	return labels;
}

static __always_inline void golang_list(struct walk *w, __u64 labels)
{
	struct context_texts t = {};
	struct go_slice s = {};
	__u32 n;

	if (read_user(&s, sizeof(s), labels) || s.len > s.cap || s.len > GO_LABELS_MAX)
		return;
	n = s.len > CONTEXT_LABELS_MAX ? CONTEXT_LABELS_MAX : s.len;
	w->context.n_dropped += s.len - n;
	for (__u32 i = 0; i < CONTEXT_LABELS_MAX && i < n; i++) {
		if (read_user(&t, sizeof(t), s.at + i * sizeof(t)))
			return;
		context_add(w, &t);
	}
}

/* Returns the address of the map's only bucket, or 0. */
static __always_inline __u64 golang_bucket(struct walk *w, __u64 labels)
{
	__u64 map = 0, bucket = 0;
	__u8 shift = 0;

	if (read_user(&map, sizeof(map), labels) || !map ||
	    read_user(&shift, sizeof(shift), map + GO_MAP_BUCKETS_SHIFT))
		return 0;
	if (shift) {
		w->context.n_dropped++;
		return 0;
	}
	return read_user(&bucket, sizeof(bucket), map + GO_MAP_BUCKETS) ? 0 : bucket;
}

/* A bucket holds 8 bytes of the hashes, 8 keys and 8 values. */
static __always_inline void golang_map(struct walk *w, __u64 labels)
{
	__u64 bucket = golang_bucket(w, labels), keys = bucket + GO_BUCKET_SLOTS;
	__u64 values = keys + GO_BUCKET_SLOTS * sizeof(struct context_text);
	__u8 hashes[GO_BUCKET_SLOTS] = {};
	struct context_texts t = {};

	if (!bucket || read_user(hashes, sizeof(hashes), bucket))
		return;
	for (__u32 i = 0; i < GO_BUCKET_SLOTS; i++) {
		if (hashes[i] < GO_HASH_MIN)
			continue;
		if (read_user(&t.key, sizeof(t.key), keys + i * sizeof(t.key)) ||
		    read_user(&t.value, sizeof(t.value), values + i * sizeof(t.value)))
			return;
		context_add(w, &t);
	}
}

WALK_FN int golang_context(__u32 which, __u32 slot)
{
	struct walk *w = walk_get(which);
	const struct context_layout *layout;
	__u64 labels;

	if (!w || slot >= CONTEXT_SLOTS_MAX)
		return 0;
	layout = context_layout_get(CONTEXT_SLOT_LAYOUT(w->process.contexts[slot]));
	if (!layout)
		return 0;
	labels = golang_labels(w, layout, CONTEXT_SLOT_BIAS(w->process.contexts[slot]));
	if (!labels)
		return 0;
	if (layout->is_list)
		golang_list(w, labels);
	else
		golang_map(w, labels);
	return 0;
}
