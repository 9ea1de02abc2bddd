/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * The tables that describe runtimes: one array of the part that all have in common, and one array
 * for each language of its own layouts. All have VM_TABLE_MAX entries and the same index.
 */
#include "bpf/shared/context.h"
#include "bpf/shared/lang_headers.h"
#include "bpf/shared/vm.h"

struct vm_tables {
	struct context_layout *contexts; /* CONTEXT_LAYOUTS_MAX entries, of files; NULL: none */
	struct vm_code *codes;
#define X(sym, name) struct name##_vm *name;
#include "bpf/shared/langs.def"
#undef X
};
