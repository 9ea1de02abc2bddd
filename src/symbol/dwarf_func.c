/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One flat pass over a unit's DIEs keeps every DW_TAG_subprogram and
 * DW_TAG_inlined_subroutine that has code, with the one it is nested in, and
 * flattens their ranges into one table. Names are not read then, since most
 * functions are never asked for: a name is followed through
 * DW_AT_abstract_origin and DW_AT_specification when it is wanted, at most
 * NAME_HOPS_MAX times, so that a cycle ends.
 */
#include "symbol/dwarf_func.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "symbol/dwarf_ranges.h"

enum { NAME_HOPS_MAX = 16 };

struct walk {
	struct dwarf_unit *u;
	struct dwarf_funcs *funcs;
	struct interval_list intervals;
	uint32_t enclosing[DWARF_DEPTH_MAX]; /* function around the DIEs of each depth */
};

/* The function at @die, whose attributes are read off @c; its index or INTERVAL_NONE. */
static int take_function(struct walk *w, struct dwarf_cursor *c, const struct dwarf_die *die,
			 uint32_t parent, uint32_t *out)
{
	struct dwarf_func f = { .die = die->off, .parent = INTERVAL_NONE };
	size_t before = w->intervals.len;
	struct dwarf_pcs pcs = { 0 };
	int r;

	for (uint32_t i = 0; i < die->abbrev->n_specs && !c->bad; i++) {
		const struct dwarf_spec *spec = dwarf_spec(w->u, die->abbrev, i);
		struct dwarf_value v = dwarf_attr_read(w->u, c, spec);

		dwarf_pcs_take(&pcs, spec->at, &v);
		if (spec->at == DW_AT_call_file)
			f.call_file = (uint32_t)v.u;
		else if (spec->at == DW_AT_call_line)
			f.call_line = (uint32_t)v.u;
	}
	if (c->bad || w->funcs->funcs.len >= DWARF_FUNCS_MAX)
		return -EBADMSG;
	r = dwarf_ranges_add(w->u, &pcs, (uint32_t)w->funcs->funcs.len, &w->intervals);
	if (r == -ENOMEM)
		return r;
	*out = INTERVAL_NONE;
	if (w->intervals.len == before)
		return 0;
	if (die->abbrev->tag == DW_TAG_inlined_subroutine)
		f.parent = parent;
	*out = (uint32_t)w->funcs->funcs.len;
	return vec_push(&w->funcs->funcs, f);
}

static bool is_function(uint16_t tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

/* 0, -ENOMEM, or -EBADMSG where the DIEs make no sense. */
static int walk_unit(struct walk *w)
{
	struct dwarf_cursor c = dwarf_unit_cursor(w->u, w->u->die_off);
	struct dwarf_die die;
	size_t depth = 0;

	w->enclosing[0] = INTERVAL_NONE;
	while (dwarf_die_next(w->u, &c, &die)) {
		uint32_t enclosing = w->enclosing[depth], own = enclosing;

		if (!die.abbrev) {
			if (depth)
				depth--;
			continue;
		}
		if (is_function(die.abbrev->tag)) {
			int r = take_function(w, &c, &die, enclosing, &own);

			if (r < 0)
				return r;
		} else {
			dwarf_attrs_skip(w->u, &c, die.abbrev);
		}
		if (!die.abbrev->has_children)
			continue;
		if (++depth == DWARF_DEPTH_MAX)
			return -EBADMSG;
		w->enclosing[depth] = own;
	}
	return 0;
}

int dwarf_funcs_build(struct dwarf_funcs **out, struct dwarf_unit *u, struct interval_list *also,
		      uint32_t also_id)
{
	_cleanup_(freep) struct walk *w = calloc(1, sizeof(*w));
	struct dwarf_funcs *f = calloc(1, sizeof(*f));
	int r = -ENOMEM;

	if (w && f) {
		w->u = u;
		w->funcs = f;
		r = dwarf_unit_abbrevs(u);
		if (r == 0)
			r = walk_unit(w);
		for (size_t i = 0; also && r != -ENOMEM && i < w->intervals.len; i++) {
			struct interval iv = w->intervals.data[i];

			iv.id = also_id;
			if (vec_push(also, iv) < 0)
				r = -ENOMEM;
		}
		if (r != -ENOMEM)
			r = interval_table_build(&f->table, &w->intervals);
		vec_fini(&w->intervals);
	}
	if (r < 0) {
		dwarf_funcs_free(f);
		return r;
	}
	*out = f;
	return 0;
}

void dwarf_funcs_free(struct dwarf_funcs *f)
{
	if (!f)
		return;
	vec_fini(&f->funcs);
	vec_fini(&f->names);
	interval_table_fini(&f->table);
	free(f);
}

/* Where the search for a name goes on. */
struct name_at {
	struct dwarf_unit *u;
	uint64_t off;
};

static bool follow(struct name_at *at, const struct dwarf_value *ref)
{
	const struct dwarf_file *f = at->u->file;

	if (ref->class == DWARF_REF_ALT)
		f = f->alt;
	else if (ref->class != DWARF_REF)
		return false;
	at->off = ref->u;
	if (f == at->u->file && ref->u >= at->u->die_off && ref->u < at->u->end)
		return true;
	at->u = f ? dwarf_file_unit_at(f, ref->u) : NULL;
	return at->u && dwarf_unit_read(at->u) == 0 && dwarf_unit_abbrevs(at->u) == 0;
}

static void take_name(struct dwarf_func_name *n, uint16_t at, const struct dwarf_value *v)
{
	if (at == DW_AT_name && !n->name && v->class == DWARF_STRING)
		n->name = v->s;
	else if ((at == DW_AT_linkage_name || at == DW_AT_MIPS_linkage_name) && !n->linkage &&
		 v->class == DWARF_STRING)
		n->linkage = v->s;
	else if (at == DW_AT_decl_line && !n->decl_line)
		n->decl_line = (uint32_t)v->u;
}

/* Read one DIE's share of the name; true if it refers to another. */
static bool name_hop(struct name_at *at, struct dwarf_func_name *n)
{
	struct dwarf_cursor c = dwarf_unit_cursor(at->u, at->off);
	struct dwarf_value ref = { 0 };
	struct dwarf_die die;

	if (!dwarf_die_next(at->u, &c, &die) || !die.abbrev)
		return false;
	for (uint32_t i = 0; i < die.abbrev->n_specs && !c.bad; i++) {
		const struct dwarf_spec *spec = dwarf_spec(at->u, die.abbrev, i);
		struct dwarf_value v = dwarf_attr_read(at->u, &c, spec);

		take_name(n, spec->at, &v);
		if (spec->at == DW_AT_abstract_origin || spec->at == DW_AT_specification)
			ref = v;
	}
	return !n->linkage && follow(at, &ref);
}

const struct dwarf_func_name *dwarf_func_name(struct dwarf_funcs *f, struct dwarf_unit *u,
					      uint32_t i)
{
	struct name_at at = { u, f->funcs.data[i].die };
	struct dwarf_func_name n = { 0 };

	if (f->funcs.data[i].name)
		return &f->names.data[f->funcs.data[i].name - 1];
	for (int hop = 0; hop < NAME_HOPS_MAX && name_hop(&at, &n); hop++)
		;
	if (vec_push(&f->names, n) < 0)
		return NULL;
	f->funcs.data[i].name = (uint32_t)f->names.len;
	return &f->names.data[f->names.len - 1];
}

size_t dwarf_funcs_bytes(const struct dwarf_funcs *f)
{
	return sizeof(*f) + f->funcs.cap * sizeof(struct dwarf_func) +
	       f->names.cap * sizeof(struct dwarf_func_name) +
	       f->table.segments.cap * sizeof(struct interval_segment);
}
