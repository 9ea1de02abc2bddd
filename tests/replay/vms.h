/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The tables of virtual machines, where the agent has BPF maps. */
#include <stdint.h>

#include "lang/lang.h"

struct replay_vms {
	struct vm_code codes[VM_TABLE_MAX];
#define X(sym, name) struct name##_vm name[VM_TABLE_MAX];
#include "bpf/shared/langs.def"
#undef X
	struct vm_tables tables;
};

static inline void replay_vms_init(struct replay_vms *v)
{
	v->tables.codes = v->codes;
#define X(sym, name) v->tables.name = v->name;
#include "bpf/shared/langs.def"
#undef X
}
