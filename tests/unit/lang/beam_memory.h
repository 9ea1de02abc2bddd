/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A synthetic process that runs the BEAM, for tests of src/lang/beam: the generations of modules,
 * a module of Erlang with a line table, one of Elixir without, and the table of atoms.
 */
#include "lang/beam/beam.h"

enum {
	BEAM_MEMORY_AT = 0x10000,
	BEAM_MEMORY_BYTES = 1 << 13,
	BEAM_RANGES_AT = 0x10000, /* the generations */
	BEAM_ATOMS_AT = 0x10100,  /* the IndexTable */
	BEAM_SHOP_AT = 0x11000,   /* the module of Erlang: 3 functions, 0x80 bytes each */
	BEAM_ELIXIR_AT = 0x11600, /* the module of Elixir: 1 function */
	BEAM_CODE = 0x100,        /* distance of the functions from the module */
	BEAM_CODE_BYTES = 0x80,
	BEAM_LINES_AT = 0x11400,
	BEAM_MEMORY_FUNCTIONS = 4, /* of both modules */
};

struct beam_memory {
	uint8_t bytes[BEAM_MEMORY_BYTES];
	struct vm_code codes[VM_TABLE_MAX];
	struct beam_vm vms[VM_TABLE_MAX];
	struct vm_tables tables;
	struct lang_process process;
};

void beam_memory_init(struct beam_memory *m);

/* Writes the @width bytes of @v at an address. */
void beam_memory_put(struct beam_memory *m, uint64_t addr, uint64_t v, size_t width);

/* Returns the address of function @i, whose first three are those of the module of Erlang. */
uint64_t beam_memory_function(uint32_t i);

/* Returns the cookie that the walk would make of function @i. */
uint32_t beam_memory_cookie(const struct beam_memory *m, uint32_t i);
