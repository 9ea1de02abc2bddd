/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads where the code of a function is in the source. The line table of a module has, for each
 * function, the addresses where lines begin, and the lines in the same order. A location has the
 * number of its file in the upper byte; 0 is the module's own file.
 *
 * The table of a function that is passed to the agent consists of struct entry. Code of other files
 * than that of the function's first line, from macros, has no line.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lang/beam/beam.h"
#include "lang/find.h"

enum {
	TABLE_FILES = 0, /* offsets in a BeamCodeLineTab */
	TABLE_WIDTH = 8,
	TABLE_LOCATIONS = 16,
	TABLE_FUNCTIONS = 24,
	ENTRIES_MAX = 1 << 14, /* of a function */
	FILE_SHIFT = 24,
	FILES_MAX = 255,
	LINE_MASK = (1 << FILE_SHIFT) - 1,
	CHARS_MAX = 1024, /* of a file's name */
	TERM_NIL = 0x3b,
	TERM_LIST = 1,      /* the low two bits */
	TERM_INTEGER = 0xf, /* the low four bits */
};

struct entry {
	uint32_t place, line;
};

/* The entries of a function in the table of its module. */
struct part {
	uint64_t files;
	uint32_t width, n;
	uint64_t *addresses; /* where the lines begin; owned */
	uint8_t *locations;  /* @width bytes each; owned */
};

static void part_fini(struct part *p)
{
	free(p->addresses);
	free(p->locations);
}

static uint32_t location(const struct part *p, uint32_t i)
{
	uint32_t v = 0;

	memcpy(&v, p->locations + (size_t)i * p->width, p->width);
	return v;
}

static int read_part(const struct beam_process *b, uint64_t table, uint32_t index, struct part *out)
{
	uint64_t head[3], all, own[2];
	int r = beam_read_bytes(b->p, table + TABLE_FILES, head, sizeof(head));

	if (r == 0)
		r = lang_read_u64(b->p, table + TABLE_FUNCTIONS, &all);
	if (r == 0)
		r = beam_read_bytes(b->p, table + TABLE_FUNCTIONS + 8ULL * index, own, sizeof(own));
	if (r < 0)
		return r;
	out->files = head[TABLE_FILES / 8];
	out->width = (uint32_t)head[TABLE_WIDTH / 8];
	if ((out->width != 2 && out->width != 4) || own[1] < own[0] || own[0] < all ||
	    own[1] - own[0] > 8 * ENTRIES_MAX)
		return -EBADMSG;
	out->n = (uint32_t)((own[1] - own[0]) / 8);
	out->addresses = calloc(out->n + 1, sizeof(*out->addresses));
	out->locations = calloc(out->n + 1, out->width);
	if (!out->addresses || !out->locations)
		return -ENOMEM;
	if (!out->n)
		return 0;
	r = beam_read_bytes(b->p, own[0], out->addresses, 8ULL * out->n);
	if (r == 0)
		r = beam_read_bytes(b->p,
				    head[TABLE_LOCATIONS / 8] + (own[0] - all) / 8 * out->width,
				    out->locations, (size_t)out->n * out->width);
	return r;
}

/* Reads a string of Erlang, which is a list of characters. */
static int read_list(const struct beam_process *b, uint64_t list, char out[CHARS_MAX])
{
	uint64_t cell[2];
	size_t n = 0;

	while (list != TERM_NIL) {
		if ((list & 3) != TERM_LIST || n + 1 >= CHARS_MAX)
			return -EBADMSG;
		if (beam_read_bytes(b->p, list - TERM_LIST, cell, sizeof(cell)) < 0)
			return -EFAULT;
		if ((cell[0] & 0xf) != TERM_INTEGER)
			return -EBADMSG;
		cell[0] >>= 4;
		out[n++] = cell[0] < ' ' || cell[0] > '~' ? '?' : (char)cell[0];
		list = cell[1];
	}
	out[n] = '\0';
	return 0;
}

/* Reads the name of file @number of a module. Return: 0, or -ENOMEM; "" if it is unknown. */
static int read_file(const struct beam_process *b, const struct part *p, uint32_t number,
		     const char *module, char **out)
{
	char text[BEAM_ATOM_BYTES + 8] = "";
	uint64_t term;

	if (!number)
		snprintf(text, sizeof(text), "%s.erl", module);
	else if (number > FILES_MAX ||
		 lang_read_u64(b->p, p->files + 8ULL * (number - 1), &term) < 0 ||
		 (beam_is_atom(term) ? beam_read_atom(b, term, text) : read_list(b, term, text)) <
			 0)
		text[0] = '\0';
	*out = strdup(text);
	return *out ? 0 : -ENOMEM;
}

/* Makes the function's table. */
static int set_lines(const struct beam_function *f, const struct part *p, uint32_t file,
		     struct lang_function *out)
{
	struct entry *entries = calloc(p->n + 1, sizeof(*entries));

	if (!entries)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->n; i++) {
		uint32_t l = location(p, i);

		/* the first one may be that of padding before the function */
		if (p->addresses[i] > f->info)
			entries[i].place = (uint32_t)(p->addresses[i] - f->info);
		entries[i].line = l >> FILE_SHIFT == file ? l & LINE_MASK : 0;
	}
	out->lines = (uint8_t *)entries;
	out->n_lines = p->n * (uint32_t)sizeof(*entries);
	return 0;
}

int beam_read_lines(const struct beam_process *b, const struct beam_function *f, const char *module,
		    struct lang_function *out)
{
	_cleanup_(part_fini) struct part part = { 0 };
	uint32_t first = 0;
	uint64_t table;
	int r = lang_read_u64(b->p, f->module + BEAM_HEADER_LINES, &table);

	if (r == 0)
		r = table ? read_part(b, table, f->index, &part) : -ENOENT;
	for (uint32_t i = 0; r == 0 && i < part.n && !first; i++)
		first = location(&part, i);
	if (r == -ENOMEM)
		return r;
	if (r < 0 || !first) {
		out->file = strdup("");
		return out->file ? 0 : -ENOMEM;
	}
	out->first_line = first & LINE_MASK;
	r = read_file(b, &part, first >> FILE_SHIFT, module, &out->file);
	return r < 0 ? r : set_lines(f, &part, first >> FILE_SHIFT, out);
}

uint32_t beam_line(const struct lang_function *f, uint32_t place)
{
	uint32_t line = 0;
	struct entry e;

	for (uint32_t i = 0; i + sizeof(e) <= f->n_lines; i += sizeof(e)) {
		memcpy(&e, f->lines + i, sizeof(e));
		if (e.place > place)
			break;
		line = e.line;
	}
	return line;
}
