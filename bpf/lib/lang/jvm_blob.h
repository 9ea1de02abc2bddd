/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Finds the code blob of a pc in a HotSpot code heap, and reads fields of its head (class
 * CodeBlob). The heap's segment map has a byte per segment: 0 where a blob begins, otherwise the
 * number of segments to go back (at most 254, then another hop follows), 0xff where nothing is
 * allocated (memory/heap.cpp).
 */
#include "bpf/lib/walk_memory.h"

enum {
	JVM_HOPS_MAX = 24, /* hops through the segment map: one per 254 segments */
};

/* A field of the blob whose head is in w->lang.jvm.blob. A field is aligned to its width. */
static __always_inline __u64 jvm_field(const struct walk *w, struct jvm_field f)
{
	__u64 v = w->lang.jvm.blob[(f.off >> 3) & (JVM_BLOB_BYTES / 8 - 1)] >> ((f.off & 7) * 8);

	switch (f.width) {
	case 1:
		return v & 0xff;
	case 2:
		return (__u64)(__s64)(__s16)v;
	case 4:
		return (__u64)(__s64)(__s32)v;
	default:
		return v;
	}
}

static __always_inline __u64 jvm_code_begin(const struct walk *w, const struct jvm_vm *vm)
{
	return jvm_field(w, vm->code) + (vm->code.base == JVM_FROM_BLOB ? w->lang.jvm.blob_at : 0);
}

/* A field that is a place in the code, as an address. */
static __always_inline __u64 jvm_address(const struct walk *w, const struct jvm_vm *vm,
					 struct jvm_field f)
{
	__u64 v = jvm_field(w, f);

	if (f.base == JVM_FROM_BLOB)
		return v + w->lang.jvm.blob_at;
	return f.base == JVM_FROM_CODE ? v + jvm_code_begin(w, vm) : v;
}

static __always_inline void jvm_push(struct walk *w, __u32 object, __u64 addr, __u64 place,
				     __u32 cookie)
{
	vm_push_place(w, object, MAPPING_LANG_VM(w->mapping.file), addr,
		      place < JVM_PLACE_NONE ? place : JVM_PLACE_NONE, cookie);
}

/*
 * The cookie of a blob: its Method and compile id, or, for blobs without a Method, the bytes in
 * their place.
 */
static __always_inline __u32 jvm_cookie(const struct walk *w, const struct jvm_vm *vm)
{
	return vm_cookie(jvm_field(w, vm->method) ^ jvm_field(w, vm->compile_id) << 40);
}

/* The address of the blob that holds @pc, by the heap's segment map; 0 if there is none. */
static __always_inline __u64 jvm_find_blob(const struct walk *w, const struct jvm_vm *vm, __u64 pc)
{
	__u32 shift = JVM_MAPPING_SHIFT(w->mapping.file);
	__u64 seg = pc >> shift;
	__u8 tag = JVM_SEGMENT_FREE;

	for (int i = 0; i < JVM_HOPS_MAX && tag; i++) {
		if (read_user(&tag, sizeof(tag), w->mapping.file_off + seg) ||
		    tag == JVM_SEGMENT_FREE)
			return 0;
		seg -= tag;
	}
	return tag ? 0 : (seg << shift) + vm->block_bytes;
}

static __always_inline int jvm_read_head(struct walk *w, const struct jvm_vm *vm, __u64 at)
{
	__u32 n = bounded_here(vm->blob_bytes);

	w->lang.jvm.blob_at = 0;
	if (!at || n > JVM_BLOB_BYTES || read_user(w->lang.jvm.blob, n, at))
		return -1;
	w->lang.jvm.blob_at = at;
	return 0;
}

/*
 * Reads the head of the blob of the current pc. Returns 0 or -1. The blob that was found for this
 * pc before is reused if its cookie is unchanged.
 */
WALK_FN int jvm_read_blob(__u32 which)
{
	struct walk *w = lang_walk_get(LANG_JVM, which);
	const struct jvm_vm *vm;
	struct jvm_blob_slot *slot;
	__u64 pc;

	if (!w)
		return -1;
	vm = jvm_get(MAPPING_LANG_VM(w->mapping.file));
	if (!vm)
		return -1;
	pc = w->regs[UREG_PC] - w->is_call;
	slot = &w->lang.jvm.blobs[((pc ^ w->record.head.pid) * 0x9e3779b97f4a7c15ULL >> 54) &
				  (JVM_BLOBS_CACHED - 1)];
	if (slot->pc == pc && slot->pid == w->record.head.pid) {
		/* the same blob as the frame before */
		if (w->lang.jvm.blob_at && w->lang.jvm.blob_at == slot->blob_at)
			return 0;
		if (!jvm_read_head(w, vm, slot->blob_at) && jvm_cookie(w, vm) == slot->cookie)
			return 0;
	}
	if (jvm_read_head(w, vm, jvm_find_blob(w, vm, pc)))
		return -1;
	slot->pc = pc;
	slot->pid = w->record.head.pid;
	slot->blob_at = w->lang.jvm.blob_at;
	slot->cookie = jvm_cookie(w, vm);
	return 0;
}
