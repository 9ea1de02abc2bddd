/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a file reads the DIE of each unit in .debug_info and builds a table
 * from addresses to units. The functions and lines of a unit are built on the
 * first lookup in it, so the cost of a large file depends on the units used.
 *
 * libdw is not used, for three reasons: it opens split files itself, which the
 * confined worker cannot do; its version in Debian 12 supports neither .dwp nor
 * zstd; and it takes several times the memory.
 */
#include "dwarf/dwarf.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "dwarf/dwarf_file.h"
#include "dwarf/dwarf_func.h"
#include "dwarf/dwarf_line.h"
#include "dwarf/dwarf_ranges.h"
#include "dwarf/dwarf_split.h"
#include "dwarf/dwarf_unit.h"
#include "dwarf/intervals.h"

struct dwarf {
	struct dwarf_opts opts;
	struct dwarf_file main, alt;
	struct interval_table units; /* from addresses to indexes in main.units */
	struct {
		VEC(struct dwarf_file *);
	} dwos;
	struct dwarf_file dwp;
	bool dwp_tried;
	struct {
		VEC(struct dwarf_unit *); /* split units from the .dwp; owned */
	} dwp_units;
	size_t bytes;
};

static int request_file(struct dwarf *d, enum dwarf_need_kind kind, const char *name,
			const char *dir, const void *id, size_t id_len)
{
	struct dwarf_need need = {
		.kind = kind,
		.name = name ? name : "",
		.dir = dir ? dir : "",
		.id = id,
		.id_len = id_len,
	};

	return d->opts.need ? d->opts.need(d->opts.need_ctx, &need) : -ENOENT;
}

/* Opens the sections of @fd into @f and closes @fd, which may be a negative error. */
static int open_file(struct dwarf *d, struct dwarf_file *f, int fd)
{
	int r;

	if (fd < 0)
		return fd;
	r = dwarf_sections_open(&f->sections, fd, d->opts.max_heap, NULL);
	close(fd);
	if (r == 0)
		d->bytes += f->sections->heap_bytes;
	return r;
}

/*
 * .gnu_debugaltlink has a path and a build id. Without that file, names stored in it are unknown.
 */
static void open_alt(struct dwarf *d)
{
	struct elf_span link;
	const char *name;
	size_t len;

	if (elf_image_section(d->main.sections->img, ".gnu_debugaltlink", &link) < 0)
		return;
	name = elf_span_string(&link, 0);
	if (!name)
		return;
	len = strlen(name) + 1;
	if (open_file(d, &d->alt,
		      request_file(d, DWARF_NEED_ALT, name, NULL, link.data + len,
				   link.len - len)) < 0)
		return;
	dwarf_file_scan(&d->alt);
	d->main.alt = &d->alt;
}

static int build_funcs(struct dwarf *d, struct dwarf_unit *code, struct dwarf_unit *owner,
		       struct interval_list *also, uint32_t also_id)
{
	int r;

	if (owner->funcs)
		return 0;
	r = dwarf_funcs_build(&owner->funcs, code, also, also_id);
	if (r == 0)
		d->bytes += dwarf_funcs_bytes(owner->funcs) + dwarf_unit_bytes(code);
	return r;
}

/*
 * Adds the address ranges of unit @i to @list. If its DIE has no ranges, its functions are
 * collected immediately to determine them.
 */
static int index_unit(struct dwarf *d, uint32_t i, struct interval_list *list)
{
	struct dwarf_unit *u = d->main.units.data[i];
	int r;

	if (u->type == DW_UT_type || u->type == DW_UT_partial || dwarf_unit_read(u) < 0)
		return 0;
	if (u->tag != DW_TAG_compile_unit && u->tag != DW_TAG_skeleton_unit)
		return 0;
	if (u->has_ranges || u->has_high)
		r = dwarf_unit_ranges_add(u, i, list);
	else
		r = u->low_pc ? build_funcs(d, u, u, list, i) : 0;
	return r == -ENOMEM ? r : 0;
}

static int index_units(struct dwarf *d)
{
	struct interval_list list = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < d->main.units.len; i++)
		r = index_unit(d, (uint32_t)i, &list);
	if (r == 0)
		r = interval_table_build(&d->units, &list);
	vec_fini(&list);
	d->bytes += d->main.units.len * sizeof(struct dwarf_unit) +
		    d->units.segments.cap * sizeof(struct interval_segment);
	return r;
}

/* Takes ownership of @sections, also on failure. */
static int open_sections(struct dwarf **out, struct dwarf_sections *sections,
			 const struct dwarf_opts *opts, struct err *err)
{
	_cleanup_(dwarf_freep) struct dwarf *d = calloc(1, sizeof(*d));
	int r;

	if (!d) {
		dwarf_sections_free(sections);
		return -ENOMEM;
	}
	d->opts = *opts;
	d->main.sections = sections;
	d->bytes = sizeof(*d) + sections->heap_bytes;
	open_alt(d);
	r = dwarf_file_scan(&d->main);
	if (r < 0 && !d->main.units.len)
		return err_set(err, r, "cannot read .debug_info: no valid unit");
	r = index_units(d);
	if (r < 0)
		return r;
	*out = steal_ptr(&d);
	return 0;
}

int dwarf_open(struct dwarf **out, int fd, const struct dwarf_opts *opts, struct err *err)
{
	struct dwarf_sections *sections;
	int r;

	r = dwarf_sections_open(&sections, fd, opts->max_heap, err);
	return r < 0 ? r : open_sections(out, sections, opts, err);
}

int dwarf_from_memory(struct dwarf **out, const void *data, size_t len,
		      const struct dwarf_opts *opts, struct err *err)
{
	struct dwarf_sections *sections;
	int r;

	r = dwarf_sections_from_memory(&sections, data, len, opts->max_heap, err);
	return r < 0 ? r : open_sections(out, sections, opts, err);
}

static void file_release_pages(const struct dwarf_file *f)
{
	if (f->sections)
		elf_image_release_pages(f->sections->img);
}

void dwarf_release_pages(const struct dwarf *d)
{
	file_release_pages(&d->main);
	file_release_pages(&d->alt);
	file_release_pages(&d->dwp);
	for (size_t i = 0; i < d->dwos.len; i++)
		file_release_pages(d->dwos.data[i]);
}

static void unit_trim(struct dwarf_unit *u)
{
	dwarf_funcs_free(u->funcs);
	dwarf_lines_free(u->lines);
	u->funcs = NULL;
	u->lines = NULL;
	u->lines_error = 0;
	u->split = NULL;
	u->split_tried = false;
}

static void split_files_free(struct dwarf *d)
{
	for (size_t i = 0; i < d->dwp_units.len; i++)
		dwarf_unit_free(d->dwp_units.data[i]);
	vec_fini(&d->dwp_units);
	for (size_t i = 0; i < d->dwos.len; i++) {
		dwarf_file_fini(d->dwos.data[i]);
		free(d->dwos.data[i]);
	}
	vec_fini(&d->dwos);
}

void dwarf_trim(struct dwarf *d)
{
	for (size_t i = 0; i < d->main.units.len; i++) {
		unit_trim(d->main.units.data[i]);
		dwarf_unit_drop_abbrevs(d->main.units.data[i]);
	}
	for (size_t i = 0; i < d->alt.units.len; i++)
		dwarf_unit_drop_abbrevs(d->alt.units.data[i]);
	split_files_free(d);
	d->bytes = sizeof(*d) + d->main.sections->heap_bytes +
		   (d->alt.sections ? d->alt.sections->heap_bytes : 0) +
		   (d->dwp.sections ? d->dwp.sections->heap_bytes : 0) +
		   d->main.units.len * sizeof(struct dwarf_unit) +
		   d->units.segments.cap * sizeof(struct interval_segment);
}

void dwarf_free(struct dwarf *d)
{
	if (!d)
		return;
	if (d->main.sections)
		dwarf_trim(d);
	dwarf_file_fini(&d->main);
	dwarf_file_fini(&d->alt);
	dwarf_file_fini(&d->dwp);
	interval_table_fini(&d->units);
	free(d);
}

size_t dwarf_bytes(const struct dwarf *d)
{
	return d->bytes;
}

/* Returns the split unit of @u from the .dwp, or NULL. */
static struct dwarf_unit *split_from_dwp(struct dwarf *d, struct dwarf_unit *u)
{
	struct dwarf_unit *split;

	if (!d->dwp_tried) {
		d->dwp_tried = true;
		open_file(d, &d->dwp, request_file(d, DWARF_NEED_DWP, NULL, NULL, NULL, 0));
	}
	if (!d->dwp.sections || dwarf_split_from_dwp(&split, &d->dwp, u) < 0)
		return NULL;
	if (vec_push(&d->dwp_units, split) < 0) {
		dwarf_unit_free(split);
		return NULL;
	}
	return split;
}

static struct dwarf_unit *split_from_dwo(struct dwarf *d, struct dwarf_unit *u)
{
	struct dwarf_file *f = calloc(1, sizeof(*f));
	int fd;

	if (!f)
		return NULL;
	fd = request_file(d, DWARF_NEED_DWO, u->dwo_name, u->comp_dir, &u->dwo_id,
			  sizeof(u->dwo_id));
	if (open_file(d, f, fd) < 0 || vec_push(&d->dwos, f) < 0) {
		dwarf_file_fini(f);
		free(f);
		return NULL;
	}
	dwarf_file_scan(f);
	return dwarf_split_from_dwo(f, u);
}

/* Returns the unit with the functions of @u: its split unit, or itself. */
static struct dwarf_unit *code_unit(struct dwarf *d, struct dwarf_unit *u)
{
	if (!u->dwo_name)
		return u;
	if (!u->split_tried) {
		u->split_tried = true;
		u->split = split_from_dwp(d, u);
		if (!u->split)
			u->split = split_from_dwo(d, u);
	}
	return u->split ? u->split : u;
}

static int build_lines(struct dwarf *d, struct dwarf_unit *u)
{
	if (!u->lines && !u->lines_error) {
		u->lines_error = dwarf_lines_build(&u->lines, u);
		if (u->lines)
			d->bytes += dwarf_lines_bytes(u->lines);
	}
	return u->lines_error == -ENOMEM ? -ENOMEM : 0;
}

static void set_position(struct dwarf_frame *out, struct dwarf_unit *u,
			 const struct dwarf_position *at)
{
	out->file = u->lines ? dwarf_lines_path(u->lines, u, at->file) : "";
	out->md5 = u->lines ? dwarf_lines_md5(u->lines, at->file) : NULL;
	out->line = at->line;
	out->discriminator = (uint16_t)at->discriminator;
}

/* Sets the names, declaration line and language of function @i. */
static void fill_frame(struct dwarf_frame *out, struct dwarf_unit *u, struct dwarf_unit *code,
		       uint32_t i)
{
	const struct dwarf_func_name *n = dwarf_func_name(u->funcs, code, i);

	out->name = n && n->name ? n->name : "";
	out->linkage = n && n->linkage ? n->linkage : "";
	out->decl_line = n ? n->decl_line : 0;
	out->lang = code->lang;
}

int dwarf_frames(struct dwarf *d, uint64_t vaddr, struct dwarf_frame *out, size_t cap)
{
	uint32_t i = interval_table_find(&d->units, vaddr);
	struct dwarf_position at = { .file = DWARF_NO_FILE };
	struct dwarf_unit *u, *code;
	size_t n = 0;
	int r;

	if (i == INTERVAL_NONE || !cap)
		return -ENOENT;
	u = d->main.units.data[i];
	code = code_unit(d, u);
	r = build_funcs(d, code, u, NULL, 0);
	if (r == 0)
		r = build_lines(d, u);
	if (r < 0)
		return r;
	if (u->lines)
		(void)dwarf_lines_find(u->lines, vaddr, &at);
	i = interval_table_find(&u->funcs->table, vaddr);
	if (i == INTERVAL_NONE) {
		if (at.file == DWARF_NO_FILE)
			return -ENOENT;
		out[0] = (struct dwarf_frame){ .name = "", .linkage = "", .lang = u->lang };
		set_position(&out[0], u, &at);
		return 1;
	}
	/*
	 * The innermost function is at the line of the address itself. Each enclosing function is
	 * at the line of the call that was inlined into it.
	 */
	for (; i != INTERVAL_NONE && n < cap; i = u->funcs->funcs.data[i].parent, n++) {
		const struct dwarf_func *f = &u->funcs->funcs.data[i];

		set_position(&out[n], u, &at);
		at = (struct dwarf_position){ f->call_file, f->call_line, f->call_discriminator };
		fill_frame(&out[n], u, code, i);
	}
	return (int)n;
}
