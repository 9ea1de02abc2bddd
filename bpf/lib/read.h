/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * How the walk reaches the memory of the sampled process and the tables: the only place where the
 * kernel's build and the host's differ. The host (src/unwind/walk.c) defines the same functions
 * before it includes bpf/lib/walk.h.
 */
#include "bpf/shared/abi.h"
#include "bpf/shared/vms.h"

#include <bpf/bpf_helpers.h>

/* A step: a global function, which the verifier checks by itself and only once. */
#define WALK_FN __attribute__((noinline))

struct chunk_template {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, ARENA_CHUNK_BYTES);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, ARENA_CHUNKS_MAX);
	__type(key, __u32);
	__array(values, struct chunk_template);
} chunks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, UNWIND_RULES_MAX);
	__type(key, __u32);
	__type(value, struct unwind_rule);
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, UNWIND_FILES_MAX);
	__type(key, __u32);
	__type(value, struct unwind_file);
} files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, CONTEXT_LAYOUTS_MAX);
	__type(key, __u32);
	__type(value, struct context_layout);
} context_layouts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, VM_TABLE_MAX);
	__type(key, __u32);
	__type(value, struct vm_code);
} vm_codes SEC(".maps");

/* The layouts of one language's runtimes, by the index of vm_codes. */
#define VM_MAP(lang)                                                                               \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                  \
		__uint(map_flags, BPF_F_MMAPABLE);                                                 \
		__uint(max_entries, VM_TABLE_MAX);                                                 \
		__type(key, __u32);                                                                \
		__type(value, struct lang##_vm);                                                   \
	} lang##_vms SEC(".maps");                                                                 \
	static __always_inline const struct lang##_vm *lang##_get(__u32 vm)                        \
	{                                                                                          \
		return bpf_map_lookup_elem(&lang##_vms, &vm);                                      \
	}
#define X(sym, name) VM_MAP(name)
#include "bpf/shared/langs.def"
#undef X

/*
 * Copies @len bytes of the process at @addr. Returns 0, or a negative number if they are not all
 * readable.
 */
static __always_inline long read_user(void *dst, __u32 len, __u64 addr)
{
	return bpf_probe_read_user(dst, len, (const void *)addr);
}

/*
 * Copies the string at @addr up to and including its zero, at most @max bytes. Returns their number
 * or a negative one.
 */
static __always_inline long read_user_text(void *dst, __u32 max, __u64 addr)
{
	return bpf_probe_read_user_str(dst, max, (const void *)addr);
}

static __always_inline struct arena_chunk *arena_chunk_get(__u32 unit)
{
	__u32 zero = 0, n = unit >> ARENA_CHUNK_SHIFT;
	void *inner = bpf_map_lookup_elem(&chunks, &n);

	return inner ? bpf_map_lookup_elem(inner, &zero) : NULL;
}

static __always_inline const struct unwind_rule *rule_get(__u32 id)
{
	return bpf_map_lookup_elem(&rules, &id);
}

static __always_inline const struct vm_code *vm_code_get(__u32 vm)
{
	return bpf_map_lookup_elem(&vm_codes, &vm);
}

static __always_inline const struct context_layout *context_layout_get(__u32 layout)
{
	return bpf_map_lookup_elem(&context_layouts, &layout);
}

static __always_inline struct unwind_file *file_get(__u32 id)
{
	return bpf_map_lookup_elem(&files, &id);
}
