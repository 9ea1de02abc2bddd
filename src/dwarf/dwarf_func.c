/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over a unit's DIEs in .debug_info collects every DW_TAG_subprogram
 * and DW_TAG_inlined_subroutine that has code, records the function it is
 * nested in, and flattens their ranges into one table.
 *
 * Most functions are never looked up, so names are read on demand, through
 * DW_AT_abstract_origin and DW_AT_specification. At most NAME_HOPS_MAX
 * references are followed, since a malformed file can contain a cycle.
 */
#include "dwarf/dwarf_func.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "dwarf/dwarf_file.h"
#include "dwarf/dwarf_line.h"
#include "dwarf/dwarf_ranges.h"

enum { NAME_HOPS_MAX = 16, AT_GNU_DISCRIMINATOR = 0x2136 };

struct walk {
	struct dwarf_unit *u;
	struct dwarf_funcs *funcs;
	struct interval_list intervals;
	uint32_t enclosing[DWARF_DEPTH_MAX]; /* the function that contains the DIEs at each depth */
};

/*
 * Reads the attributes of the function @die from @c. *@out becomes its index, or INTERVAL_NONE if
 * it has no code. Returns 0, -EBADMSG or -ENOMEM.
 */
static int add_function(struct walk *w, struct dwarf_cursor *c, const struct dwarf_die *die,
			uint32_t parent, uint32_t *out)
{
	struct dwarf_func f = { .die = die->off, .parent = INTERVAL_NONE };
	size_t before = w->intervals.len;
	struct dwarf_pcs pcs = { 0 };
	int r;

	for (uint32_t i = 0; i < die->abbrev->n_specs && !c->bad; i++) {
		const struct dwarf_spec *spec = dwarf_spec(w->u, die->abbrev, i);
		struct dwarf_value v = dwarf_attr_read(w->u, c, spec);

		dwarf_pcs_set(&pcs, spec->at, &v);
		if (spec->at == DW_AT_call_file)
			f.call_file = v.u < DWARF_NO_FILE ? (uint32_t)v.u : DWARF_NO_FILE;
		else if (spec->at == DW_AT_call_line)
			f.call_line = (uint32_t)v.u;
		else if (spec->at == AT_GNU_DISCRIMINATOR)
			f.call_discriminator = dwarf_discriminator(v.u) & DWARF_DISCRIMINATOR_MAX;
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

/* Returns 0, -ENOMEM, or -EBADMSG at the first malformed DIE. */
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
			int r = add_function(w, &c, &die, enclosing, &own);

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

/* The DIE at which the search for a name continues. */
struct name_cursor {
	struct dwarf_unit *u;
	uint64_t off;
};

/* Moves @at to the DIE that @ref refers to, possibly in another unit or in dwz's alternate file. */
static bool follow(struct name_cursor *at, const struct dwarf_value *ref)
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

static void read_name(struct dwarf_func_name *n, uint16_t at, const struct dwarf_value *v)
{
	if (at == DW_AT_name && !n->name && v->class == DWARF_STRING)
		n->name = v->s;
	else if ((at == DW_AT_linkage_name || at == DW_AT_MIPS_linkage_name) && !n->linkage &&
		 v->class == DWARF_STRING)
		n->linkage = v->s;
	else if (at == DW_AT_decl_line && !n->decl_line)
		n->decl_line = (uint32_t)v->u;
}

/* Reads the name attributes of one DIE. Returns true if @at now refers to another DIE. */
static bool name_hop(struct name_cursor *at, struct dwarf_func_name *n)
{
	struct dwarf_cursor c = dwarf_unit_cursor(at->u, at->off);
	struct dwarf_value ref = { 0 };
	struct dwarf_die die;

	if (!dwarf_die_next(at->u, &c, &die) || !die.abbrev)
		return false;
	for (uint32_t i = 0; i < die.abbrev->n_specs && !c.bad; i++) {
		const struct dwarf_spec *spec = dwarf_spec(at->u, die.abbrev, i);
		struct dwarf_value v = dwarf_attr_read(at->u, &c, spec);

		read_name(n, spec->at, &v);
		if (spec->at == DW_AT_abstract_origin || spec->at == DW_AT_specification)
			ref = v;
	}
	/* Callers prefer the linkage name, so nothing further is needed once it is known. */
	return !n->linkage && follow(at, &ref);
}

const struct dwarf_func_name *dwarf_func_name(struct dwarf_funcs *f, struct dwarf_unit *u,
					      uint32_t i)
{
	struct name_cursor at = { u, f->funcs.data[i].die };
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
