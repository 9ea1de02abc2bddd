/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The functions of one unit and the calls inlined into them, by address, from
 * the unit's DIEs in .debug_info. Owned by dwarf.c; not thread-safe.
 */
#include <stddef.h>
#include <stdint.h>

#include "dwarf/dwarf_unit.h"
#include "dwarf/intervals.h"

struct dwarf_func {
	uint64_t die;    /* offset of its DIE in .debug_info */
	uint32_t parent; /* index of the function it is inlined into, or INTERVAL_NONE */
	/* of an inlined call; file numbers and discriminators as in struct dwarf_position */
	uint32_t call_file : 20;
	uint32_t call_discriminator : 12;
	uint32_t call_line;
	uint32_t name; /* index in dwarf_funcs.names, plus 1; 0: not looked up yet */
};

/* The names of a function. Strings are borrowed from the file's sections. */
struct dwarf_func_name {
	const char *name;    /* DW_AT_name; NULL if absent */
	const char *linkage; /* mangled; NULL if absent */
	uint32_t decl_line;
};

struct dwarf_funcs {
	struct {
		VEC(struct dwarf_func);
	} funcs;
	struct interval_table table; /* address -> innermost function */
	struct {
		VEC(struct dwarf_func_name);
	} names;
};

/* Limits against malformed files; compiler output stays far below them. */
enum { DWARF_DEPTH_MAX = 512, DWARF_FUNCS_MAX = 1 << 24 };

/**
 * dwarf_funcs_build() - collect the functions of a unit in one pass
 *
 * If @also is not NULL, the intervals are also appended to it with the id
 * @also_id. dwarf.c uses this to index units whose DIE has no address ranges.
 * From a malformed unit, the functions before the error are collected.
 *
 * Return: 0 or -ENOMEM.
 */
int dwarf_funcs_build(struct dwarf_funcs **out, struct dwarf_unit *u, struct interval_list *also,
		      uint32_t also_id);
void dwarf_funcs_free(struct dwarf_funcs *f);

/* Returns the names of function @i, looked up on first use; NULL if memory is short. */
const struct dwarf_func_name *dwarf_func_name(struct dwarf_funcs *f, struct dwarf_unit *u,
					      uint32_t i);

size_t dwarf_funcs_bytes(const struct dwarf_funcs *f);
