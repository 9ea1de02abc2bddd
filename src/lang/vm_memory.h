/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The tables that describe language runtimes (bpf/shared/vm.h) in plain memory, where the agent
 * uses BPF maps. About 200 KiB: allocate it, or make it static.
 */
#include "bpf/shared/vms.h"

struct vm_memory {
	struct vm_code codes[VM_TABLE_MAX];
#define X(sym, name) struct name##_vm name[VM_TABLE_MAX];
#include "bpf/shared/langs.def"
#undef X
	struct vm_tables tables; /* points into this structure; set by vm_memory_init() */
};

static inline void vm_memory_init(struct vm_memory *v)
{
	v->tables.codes = v->codes;
#define X(sym, name) v->tables.name = v->name;
#include "bpf/shared/langs.def"
#undef X
}
