/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The functions of one unit and the calls inlined into them, by address.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/dwarf_unit.h"
#include "symbol/intervals.h"

struct dwarf_func {
	uint64_t die;    /* its DIE's offset */
	uint32_t parent; /* the function it is inlined into, or INTERVAL_NONE */
	uint32_t call_file, call_line;
	uint32_t name; /* index of dwarf_funcs.names + 1; 0: not looked up yet */
};

/* What a function is called; strings are the file's. */
struct dwarf_func_name {
	const char *name;    /* DW_AT_name, NULL if it has none */
	const char *linkage; /* mangled, NULL if it has none */
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

/* Limits that no compiler's output comes near. */
enum { DWARF_DEPTH_MAX = 512, DWARF_FUNCS_MAX = 1 << 24 };

/**
 * dwarf_funcs_build() - walk the unit's DIEs once
 *
 * @also, if not NULL, gets the intervals too, with id @also_id (for units that
 * do not say where they are). A unit that is malformed gives what came before.
 *
 * Return: 0 or -ENOMEM.
 */
int dwarf_funcs_build(struct dwarf_funcs **out, struct dwarf_unit *u, struct interval_list *also,
		      uint32_t also_id);
void dwarf_funcs_free(struct dwarf_funcs *f);

/* The name of function @i, found through its abstract origin; looked up once. */
const struct dwarf_func_name *dwarf_func_name(struct dwarf_funcs *f, struct dwarf_unit *u,
					      uint32_t i);

size_t dwarf_funcs_bytes(const struct dwarf_funcs *f);
