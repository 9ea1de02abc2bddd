/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/* The typed tables of every language in langs.def, by the same index as struct vm_code. */
#include "bpf/shared/jvm.h"
#include "bpf/shared/lua.h"
#include "bpf/shared/perl.h"
#include "bpf/shared/php.h"
#include "bpf/shared/python.h"
#include "bpf/shared/ruby.h"
#include "bpf/shared/v8.h"
#include "bpf/shared/vm.h"

struct vm_tables {
	struct vm_code *codes;
#define X(sym, name) struct name##_vm *name;
#include "bpf/shared/langs.def"
#undef X
};
