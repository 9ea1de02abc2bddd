/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two generations. New entries go into the young one. When it holds half of the limit, it
 * becomes the old one, and the previous old one is dropped as a whole. An entry that is used
 * from the old generation is copied into the young one. This bounds memory and approximates
 * LRU without a list of uses.
 */
#include "symbolize/address_cache.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/index.h"
#include "base/strtab.h"
#include "base/vec.h"

/* A frame of an entry. */
struct line {
	uint32_t name, system_name, file; /* ids in the strings of the generation */
	uint32_t line, start_line;
	uint8_t missing;
};

struct entry {
	struct address_cache_place place;
	uint32_t first_line, n_lines;
};

struct generation {
	struct strtab *strings; /* NULL: the generation is empty */
	struct {
		VEC(struct line);
	} lines;
	struct {
		VEC(struct entry);
	} entries;
	struct index by_place;
};

struct address_cache {
	size_t max_bytes;
	struct generation young, old;
	struct symbol_frame frames[ADDRESS_CACHE_FRAMES_MAX]; /* result of the last lookup */
};

/* Context of same_place(): the table compares by the ids of entries in a generation. */
struct place_key {
	const struct generation *g;
	const struct address_cache_place *place;
};

int address_cache_new(struct address_cache **out, size_t max_bytes)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->max_bytes = max_bytes;
	return 0;
}

static void generation_fini(struct generation *g)
{
	strtab_free(g->strings);
	g->strings = NULL;
	vec_fini(&g->lines);
	vec_fini(&g->entries);
	index_fini(&g->by_place);
}

void address_cache_clear(struct address_cache *a)
{
	generation_fini(&a->young);
	generation_fini(&a->old);
}

void address_cache_free(struct address_cache *a)
{
	if (!a)
		return;
	address_cache_clear(a);
	free(a);
}

static size_t generation_bytes(const struct generation *g)
{
	return (g->strings ? strtab_bytes(g->strings) : 0) + g->lines.cap * sizeof(*g->lines.data) +
	       g->entries.cap * sizeof(*g->entries.data) +
	       g->by_place.n_slots * sizeof(struct index_slot);
}

size_t address_cache_bytes(const struct address_cache *a)
{
	return generation_bytes(&a->young) + generation_bytes(&a->old);
}

static uint32_t place_hash(const struct address_cache_place *p)
{
	return hash_pair(p->word, p->serial);
}

static bool same_place(const void *ctx, uint32_t id)
{
	const struct place_key *k = ctx;
	const struct address_cache_place *present = &k->g->entries.data[id].place;

	return present->word == k->place->word && present->serial == k->place->serial;
}

static const struct entry *find(const struct generation *g, const struct address_cache_place *place)
{
	struct place_key key = { g, place };
	uint32_t id;

	return index_find(&g->by_place, place_hash(place), same_place, &key, &id)
		       ? &g->entries.data[id]
		       : NULL;
}

static int add_line(struct generation *g, const struct symbol_frame *f)
{
	const char *system = f->system_name ? f->system_name : f->name, *file = f->file;
	struct line l = { .line = f->line, .start_line = f->start_line, .missing = f->missing };
	int r = strtab_add(g->strings, f->name, strlen(f->name), &l.name);

	if (r == 0)
		r = strtab_add(g->strings, system, strlen(system), &l.system_name);
	if (r == 0 && file)
		r = strtab_add(g->strings, file, strlen(file), &l.file);
	return r < 0 ? r : vec_push(&g->lines, l);
}

/*
 * A failure may leave strings and lines that no entry refers to; they vanish with the generation.
 */
static int generation_put(struct generation *g, const struct address_cache_place *place,
			  const struct symbol_frame *frames, size_t n)
{
	struct entry entry = { .place = *place };
	int r = g->strings ? 0 : strtab_new(&g->strings);

	entry.first_line = (uint32_t)g->lines.len;
	entry.n_lines = (uint32_t)(n < ADDRESS_CACHE_FRAMES_MAX ? n : ADDRESS_CACHE_FRAMES_MAX);
	for (size_t i = 0; i < entry.n_lines && r == 0; i++)
		r = add_line(g, &frames[i]);
	if (r == 0)
		r = vec_push(&g->entries, entry);
	if (r == 0)
		r = index_add(&g->by_place, place_hash(place), (uint32_t)g->entries.len - 1);
	return r;
}

void address_cache_age(struct address_cache *a)
{
	generation_fini(&a->old);
	a->old = a->young;
	a->young = (struct generation){ 0 };
}

int address_cache_put(struct address_cache *a, const struct address_cache_place *place,
		      const struct symbol_frame *frames, size_t n)
{
	if (a->max_bytes && generation_bytes(&a->young) >= a->max_bytes / 2)
		address_cache_age(a);
	return generation_put(&a->young, place, frames, n);
}

/* The frames borrow the strings of the generation, so they are valid until the next call. */
static void load_frames(struct address_cache *a, const struct generation *g,
			const struct entry *entry)
{
	for (uint32_t i = 0; i < entry->n_lines; i++) {
		const struct line *l = &g->lines.data[entry->first_line + i];

		a->frames[i] = (struct symbol_frame){
			.name = strtab_get(g->strings, l->name),
			.system_name = strtab_get(g->strings, l->system_name),
			.file = strtab_get(g->strings, l->file),
			.line = l->line,
			.start_line = l->start_line,
			.missing = l->missing,
		};
	}
}

bool address_cache_get(struct address_cache *a, const struct address_cache_place *place,
		       const struct symbol_frame **out, size_t *out_n)
{
	const struct entry *entry = find(&a->young, place);

	if (!entry) {
		entry = find(&a->old, place);
		if (!entry)
			return false;
		load_frames(a, &a->old, entry);
		/*
		 * address_cache_put() could rotate the generations and free the old one, whose
		 * strings a->frames borrows; generation_put() does not.
		 */
		if (generation_put(&a->young, place, a->frames, entry->n_lines) < 0)
			return false;
		entry = find(&a->young, place);
		if (!entry)
			return false;
	}
	load_frames(a, &a->young, entry);
	*out = a->frames;
	*out_n = entry->n_lines;
	return true;
}
