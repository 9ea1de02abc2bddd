/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * libcapstone, which is loaded at run time: linked, its tables would cost each process of Cameo
 * 1.7 MiB of relocated memory, for a command that few use.
 */
#include <capstone/capstone.h>
#include <stdbool.h>

#define DISASM_QUOTE_(x)       #x
#define DISASM_QUOTE(x)        DISASM_QUOTE_(x)
#define DISASM_LIBRARY         "libcapstone.so." DISASM_QUOTE(CS_API_MAJOR)
#define DISASM_LIBRARY_PACKAGE "libcapstone" DISASM_QUOTE(CS_API_MAJOR)

/* The functions that are used, with the types of its header. */
#define DISASM_FUNCTIONS(X)                                                                        \
	X(cs_open)                                                                                 \
	X(cs_close) X(cs_option) X(cs_malloc) X(cs_free) X(cs_disasm_iter) X(cs_insn_group)

struct disasm_library {
#define X(name) __typeof__(name) *name;
	DISASM_FUNCTIONS(X)
#undef X
};

/* Loads the library, once. Call it before the process is confined. */
void disasm_library_load(void);

/* The library, or NULL if it was not loaded. */
const struct disasm_library *disasm_library(void);
