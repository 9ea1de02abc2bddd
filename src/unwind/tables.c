/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a file are copied into the arena in runs of whole pages; a run lies within one chunk.
 * The page entries follow, and only then the file becomes READY, so a walk never sees half a table.
 */
#include "unwind/tables.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "base/vec.h"
#include "unwind/file_rows.h"
#include "unwind/flat_table.h"
#include "unwind/pages.h"
#include "unwind/rules.h"

enum {
	RUN_ROWS = 1 << 16, /* a run ends once it has this many rows; a page has at most as many */
	PAGE_UNITS = sizeof(struct unwind_page) / 4,
	MAPPING_UNITS = sizeof(struct unwind_mapping) / 4,
	RULES_OF_OWNER = UNWIND_RULES_MAX / 4,
};

struct run {
	uint32_t unit, n;
};

/* The memory of a file in the arena. */
struct file_space {
	struct {
		VEC(struct run);
	} runs;
	uint64_t n_rows;
	uint64_t used_ns;      /* when it was last found in use */
	uint64_t wanted_units; /* if FULL, the units that it needs; else 0 */
	uint32_t owner;
	uint32_t n_rules; /* that its table added to the dictionary */
};

/*
 * Walks that find their rules in the cache do not mark a table as used, so the caches are
 * invalidated at this interval.
 */
#define REFRESH_NS 30000000000ULL
/* Rules that no table has are looked for at this interval, if tables were dropped. */
#define SWEEP_NS 10000000000ULL
/* A table that was used within this time is not evicted. */
#define KEEP_USED_NS 60000000000ULL

struct unwind_tables {
	struct unwind_tables_memory mem;
	struct unwind_arena *arena;
	struct unwind_rules rules;
	struct {
		VEC(struct file_space);
	} space; /* indexed by file id */
	uint32_t n_files, n_evicted;
	uint64_t n_rows, n_rules_full;
	uint64_t next_refresh_ns, next_sweep_ns;
	bool may_have_unused_rules;
};

int unwind_tables_new(struct unwind_tables **out, const struct unwind_tables_memory *mem)
{
	_cleanup_(unwind_tables_freep) struct unwind_tables *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	t->mem = *mem;
	r = unwind_rules_init(&t->rules, mem->rules, UNWIND_RULES_MAX);
	if (r < 0)
		return r;
	r = unwind_arena_new(&t->arena, mem->max_chunks, mem->add_chunk, mem->ctx);
	if (r < 0)
		return r;
	unwind_arena_set_release(t->arena, mem->release_chunk);
	*out = steal_ptr(&t);
	return 0;
}

void unwind_tables_free(struct unwind_tables *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->space.len; i++)
		vec_fini(&t->space.data[i].runs);
	vec_fini(&t->space);
	unwind_rules_fini(&t->rules);
	unwind_arena_free(t->arena);
	free(t);
}

static int space_of(struct unwind_tables *t, uint32_t file, struct file_space **out)
{
	int r;

	if (!file || file >= UNWIND_FILES_MAX)
		return -EINVAL;
	while (t->space.len <= file) {
		r = vec_push(&t->space, (struct file_space){ 0 });
		if (r < 0)
			return r;
	}
	*out = &t->space.data[file];
	return 0;
}

static void set_state(struct unwind_tables *t, uint32_t file, struct unwind_file f)
{
	struct unwind_file *to = &t->mem.files[file];

	to->first_page = f.first_page;
	to->page_lo = f.page_lo;
	to->n_pages = f.n_pages;
	__atomic_store_n(&to->state, f.state, __ATOMIC_RELEASE);
}

void unwind_tables_set_absent(struct unwind_tables *t, uint32_t file)
{
	set_state(t, file, (struct unwind_file){ .state = FILE_TABLE_ABSENT });
}

void unwind_tables_set_failed(struct unwind_tables *t, uint32_t file, bool no_memory)
{
	set_state(t, file,
		  (struct unwind_file){ .state = no_memory ? FILE_TABLE_FULL : FILE_TABLE_FAILED });
}

void unwind_tables_give_up_sweep(struct unwind_tables *t, uint32_t file)
{
	struct unwind_file *f = &t->mem.files[file];

	if (f->state == FILE_TABLE_UNSWEPT)
		__atomic_store_n(&f->state, FILE_TABLE_READY, __ATOMIC_RELEASE);
}

static int space_add(struct unwind_tables *t, struct file_space *s, uint32_t n, bool straddle,
		     uint32_t *out)
{
	int r = vec_reserve(&s->runs, s->runs.len + 1);

	if (r == 0)
		r = unwind_arena_alloc(t->arena, n, straddle, out);
	if (r < 0)
		return r;
	s->runs.data[s->runs.len++] = (struct run){ *out, n };
	return 0;
}

static void space_release(struct unwind_tables *t, struct file_space *s, uint64_t now_ns)
{
	for (size_t i = 0; i < s->runs.len; i++)
		unwind_arena_retire(t->arena, s->runs.data[i].unit, s->runs.data[i].n, now_ns);
	vec_fini(&s->runs);
	t->n_rows -= s->n_rows;
	s->n_rows = 0;
	s->n_rules = 0;
}

/* Copies the rows, run by run; @entry[i] becomes the entry of page i. */
static int put_rows(struct unwind_tables *t, struct file_space *s, const struct unwind_pages *p,
		    struct unwind_page *entry)
{
	uint32_t first = 0;

	while (first < p->n_pages) {
		uint32_t row = p->start.data[first], end = first, unit = 0, n;
		int r = 0;

		do {
			end++;
		} while (end < p->n_pages && p->start.data[end] - row < RUN_ROWS);
		n = p->start.data[end] - row;
		if (n)
			r = space_add(t, s, n, false, &unit);
		if (r < 0)
			return r;
		if (n)
			unwind_arena_write(t->arena, unit, p->rows.data + row, (size_t)n * 4);
		for (uint32_t i = first; i < end; i++)
			entry[i] = (struct unwind_page){ unit + (p->start.data[i] - row),
							 p->start.data[i + 1] - p->start.data[i] };
		first = end;
	}
	return 0;
}

static int put_pages(struct unwind_tables *t, struct file_space *s, const struct unwind_pages *p,
		     uint32_t *out_first)
{
	_cleanup_(freep) struct unwind_page *entry = calloc(p->n_pages, sizeof(*entry));
	int r;

	if (!entry)
		return -ENOMEM;
	r = put_rows(t, s, p, entry);
	if (r == 0)
		r = space_add(t, s, p->n_pages * PAGE_UNITS, true, out_first);
	if (r < 0)
		return r;
	unwind_arena_write(t->arena, *out_first, entry, (size_t)p->n_pages * sizeof(*entry));
	return 0;
}

/* Evicts the least recently used table; returns false if all are in use. */
static bool evict_one(struct unwind_tables *t, uint64_t now_ns)
{
	uint32_t oldest = 0;

	for (uint32_t i = 1; i < t->space.len; i++) {
		const struct file_space *s = &t->space.data[i];

		if (!s->runs.len || s->used_ns + KEEP_USED_NS > now_ns)
			continue;
		if (!oldest || s->used_ns < t->space.data[oldest].used_ns)
			oldest = i;
	}
	if (!oldest)
		return false;
	unwind_tables_drop(t, oldest, now_ns);
	t->n_evicted++;
	return true;
}

static uint64_t units_of(uint64_t n_rows, uint64_t n_pages)
{
	return n_rows + n_pages * PAGE_UNITS;
}

/* Evicts tables to make room for @file, usable after the grace period. */
static void make_room(struct unwind_tables *t, uint32_t file, const struct unwind_pages *p,
		      uint64_t now_ns)
{
	struct file_space *s = &t->space.data[file];
	size_t before = unwind_arena_used_bytes(t->arena);

	s->wanted_units = units_of(p->rows.len, p->n_pages);
	while (before - unwind_arena_used_bytes(t->arena) < s->wanted_units * 4 &&
	       evict_one(t, now_ns))
		continue;
}

static int64_t publish_file(struct unwind_tables *t, uint32_t file, const struct unwind_pages *p,
			    enum file_table_state state, uint64_t now_ns, struct err *err)
{
	struct file_space *s;
	uint32_t first = 0;
	int r = space_of(t, file, &s);

	if (r < 0)
		return r;
	r = put_pages(t, s, p, &first);
	if (r < 0) {
		space_release(t, s, now_ns);
		t->may_have_unused_rules = true;
		set_state(t, file, (struct unwind_file){ .state = FILE_TABLE_FULL });
		make_room(t, file, p, now_ns);
		return err_set(err, r, "no space for %zu unwind rows", p->rows.len);
	}
	s->n_rows = p->rows.len;
	s->used_ns = now_ns;
	s->wanted_units = 0;
	t->n_rows += s->n_rows;
	t->n_files++;
	set_state(t, file,
		  (struct unwind_file){ .first_page = first,
					.page_lo = p->first_page,
					.n_pages = p->n_pages,
					.state = state });
	return (int64_t)s->n_rows;
}

static int rows_of(struct unwind_rows *rows, const struct unwind_tables_source *src,
		   struct err *err)
{
	if (src->debug)
		return unwind_rows_from_debug_file(rows, src->img, src->debug, err);
	return unwind_rows_from_file(rows, src->img, err);
}

int64_t unwind_tables_build(struct unwind_tables *t, uint32_t file,
			    const struct unwind_tables_source *src, uint64_t now_ns,
			    struct err *err)
{
	struct unwind_rows rows = { .rules = &t->rules, .sweep_all = src->sweep_all };
	enum file_table_state state;
	struct unwind_pages pages = { 0 };
	int64_t n = 0;
	int r;

	/* the rows before a malformed part are valid */
	r = rows_of(&rows, src, err);
	if (r == 0 || r == -EBADMSG)
		r = unwind_pages_build(&pages, &rows, err);
	state = rows.unswept ? FILE_TABLE_UNSWEPT : FILE_TABLE_READY;
	unwind_rows_fini(&rows);
	if (r == 0 && pages.n_pages)
		n = publish_file(t, file, &pages, state, now_ns, err);
	else
		unwind_tables_set_absent(t, file);
	unwind_pages_fini(&pages);
	return r < 0 ? r : n;
}

/*
 * The number of rules that another table of @owner may add. Any user can make files with as many
 * rules as the dictionary has room for, which those of others would lack.
 */
static uint32_t rules_left(const struct unwind_tables *t, uint32_t owner)
{
	uint32_t n = 0;

	if (!owner)
		return UNWIND_RULES_MAX;
	for (size_t i = 0; i < t->space.len; i++)
		n += t->space.data[i].owner == owner ? t->space.data[i].n_rules : 0;
	return n < RULES_OF_OWNER ? RULES_OF_OWNER - n : 0;
}

static uint32_t n_rules(const struct unwind_tables *t)
{
	return t->rules.n - t->rules.n_free;
}

/*
 * Translates the ids of the rules that a table has to those of the dictionary, to which it may add
 * *@left.
 */
static int translate_rules(struct unwind_tables *t, const struct flat_table *table, uint32_t *left,
			   uint16_t *ids)
{
	for (uint32_t i = 0; i < table->head.n_rules; i++) {
		uint32_t before = n_rules(t);
		int r = *left ? unwind_rules_add(&t->rules, &table->rules[i], &ids[i])
			      : unwind_rules_find(&t->rules, &table->rules[i], &ids[i]);

		*left -= n_rules(t) - before;
		t->n_rules_full += r == -ENOSPC;
		if (r == -ENOSPC)
			ids[i] = UNWIND_RULE_NONE;
		else if (r < 0)
			return r;
	}
	return 0;
}

/* Copies the pages of a table, with the rules of the dictionary. */
static int copy_pages(struct unwind_tables *t, const struct flat_table *table, uint32_t *rules_left,
		      struct unwind_pages *out)
{
	uint32_t n_pages = table->head.n_pages, n_rows = table->head.n_rows;
	_cleanup_(freep) uint16_t *ids = calloc(table->head.n_rules, sizeof(*ids));
	int r = ids ? translate_rules(t, table, rules_left, ids) : -ENOMEM;

	if (r == 0)
		r = vec_reserve(&out->start, (size_t)n_pages + 1);
	if (r == 0)
		r = vec_reserve(&out->rows, n_rows);
	if (r < 0)
		return r;
	out->first_page = table->head.first_page;
	out->n_pages = n_pages;
	memcpy(out->start.data, table->start, ((size_t)n_pages + 1) * sizeof(*table->start));
	for (uint32_t i = 0; i < n_rows; i++)
		out->rows.data[i] =
			(struct unwind_row){ table->rows[i].lo, ids[table->rows[i].rule] };
	out->start.len = (size_t)n_pages + 1;
	out->rows.len = n_rows;
	return 0;
}

/* Returns true if @file is UNSWEPT and there is no room for @table next to the present one. */
static bool has_no_room_to_sweep(const struct unwind_tables *t, uint32_t file,
				 const struct flat_table *table)
{
	return file < UNWIND_FILES_MAX && t->mem.files[file].state == FILE_TABLE_UNSWEPT &&
	       units_of(table->head.n_rows, table->head.n_pages) >
		       unwind_arena_room_units(t->arena);
}

int64_t unwind_tables_put(struct unwind_tables *t, uint32_t file, uint32_t owner,
			  const struct flat_table *table, uint64_t now_ns, struct err *err)
{
	struct unwind_pages pages = { 0 };
	enum file_table_state state = table->head.unswept ? FILE_TABLE_UNSWEPT : FILE_TABLE_READY;
	uint32_t could_add, can_add;
	int64_t n;

	/* the memory of the present table cannot be reused at once, and it is better than none */
	if (has_no_room_to_sweep(t, file, table)) {
		unwind_tables_give_up_sweep(t, file);
		return err_set(err, -ENOSPC, "no space for %u unwind rows", table->head.n_rows);
	}
	unwind_tables_drop(t, file, now_ns);
	could_add = can_add = rules_left(t, owner);
	n = copy_pages(t, table, &can_add, &pages);
	if (n == 0 && pages.n_pages)
		n = publish_file(t, file, &pages, state, now_ns, err);
	else
		unwind_tables_set_absent(t, file);
	if (n > 0) {
		t->space.data[file].owner = owner;
		t->space.data[file].n_rules = could_add - can_add;
	}
	unwind_pages_fini(&pages);
	return n;
}

void unwind_tables_drop(struct unwind_tables *t, uint32_t file, uint64_t now_ns)
{
	struct file_space *s;

	if (space_of(t, file, &s) < 0)
		return;
	set_state(t, file, (struct unwind_file){ 0 });
	if (!s->runs.len)
		return;
	space_release(t, s, now_ns);
	t->n_files--;
	t->may_have_unused_rules = true;
	(*t->mem.generation)++;
}

int unwind_tables_add_mappings(struct unwind_tables *t, const struct unwind_mapping *m, uint32_t n,
			       struct unwind_process *out)
{
	uint32_t unit;
	int r = unwind_arena_alloc(t->arena, n * MAPPING_UNITS, true, &unit);

	if (r < 0)
		return r;
	unwind_arena_write(t->arena, unit, m, (size_t)n * sizeof(*m));
	*out = (struct unwind_process){ .first_mapping = unit, .n_mappings = n };
	return 0;
}

void unwind_tables_retire_mappings(struct unwind_tables *t, const struct unwind_process *p,
				   uint64_t now_ns)
{
	unwind_arena_retire(t->arena, p->first_mapping, p->n_mappings * MAPPING_UNITS, now_ns);
}

static void note_use(struct unwind_tables *t, uint64_t now_ns)
{
	bool refresh = now_ns >= t->next_refresh_ns;

	for (uint32_t i = 1; i < t->space.len; i++) {
		if (!t->mem.files[i].used)
			continue;
		t->space.data[i].used_ns = now_ns;
		if (refresh)
			t->mem.files[i].used = 0;
	}
	if (!refresh)
		return;
	t->next_refresh_ns = now_ns + REFRESH_NS;
	(*t->mem.generation)++;
}

/*
 * Makes files that found no room NOT_READY again once the memory that was freed for them can be
 * reused.
 */
static void retry_full(struct unwind_tables *t)
{
	uint64_t room = unwind_arena_room_units(t->arena);

	for (uint32_t i = 1; i < t->space.len; i++) {
		struct file_space *s = &t->space.data[i];

		if (!s->wanted_units || s->wanted_units > room)
			continue;
		room -= s->wanted_units;
		s->wanted_units = 0;
		set_state(t, i, (struct unwind_file){ 0 });
	}
}

/* Adds the rules of a table. Its last run holds the entries of its pages, the others rows. */
static void add_rules_of(const struct unwind_tables *t, const struct file_space *s,
			 struct rule_set *out)
{
	for (size_t i = 0; i + 1 < s->runs.len; i++) {
		uint32_t unit = s->runs.data[i].unit;
		const uint32_t *rows = unwind_arena_chunk(t->arena, unit >> ARENA_CHUNK_SHIFT) +
				       (unit & ARENA_CHUNK_MASK);

		for (uint32_t row = 0; row < s->runs.data[i].n; row++)
			rule_set_add(out, (rows[row] >> 16) % UNWIND_RULES_MAX);
	}
}

/*
 * Rules that only dropped tables used are freed by the second sweep. Reading all rows takes about a
 * millisecond per million.
 */
static void sweep_rules(struct unwind_tables *t, uint64_t now_ns)
{
	struct rule_set used = { 0 };

	if (!t->may_have_unused_rules || now_ns < t->next_sweep_ns)
		return;
	t->next_sweep_ns = now_ns + SWEEP_NS;
	for (size_t i = 0; i < t->space.len; i++)
		add_rules_of(t, &t->space.data[i], &used);
	t->may_have_unused_rules = unwind_rules_sweep(&t->rules, &used) > 0;
}

void unwind_tables_reap(struct unwind_tables *t, uint64_t now_ns)
{
	note_use(t, now_ns);
	sweep_rules(t, now_ns);
	unwind_arena_reap(t->arena, now_ns);
	retry_full(t);
}

void unwind_tables_stats(const struct unwind_tables *t, struct unwind_tables_stats *out)
{
	*out = (struct unwind_tables_stats){
		.n_files = t->n_files,
		.n_evicted = t->n_evicted,
		.n_rules = n_rules(t),
		.n_rows = t->n_rows,
		.n_rules_full = t->n_rules_full,
		.bytes = unwind_arena_bytes(t->arena),
		.used_bytes = unwind_arena_used_bytes(t->arena),
	};
}

size_t unwind_tables_file_bytes(const struct unwind_tables *t, uint32_t file, uint64_t *out_rows)
{
	size_t units = 0;

	*out_rows = 0;
	if (file >= t->space.len)
		return 0;
	*out_rows = t->space.data[file].n_rows;
	for (size_t i = 0; i < t->space.data[file].runs.len; i++)
		units += t->space.data[file].runs.data[i].n;
	return units * 4;
}

struct unwind_arena *unwind_tables_arena(struct unwind_tables *t)
{
	return t->arena;
}

const struct unwind_rule *unwind_tables_rule(const struct unwind_tables *t, uint32_t id)
{
	return id < t->rules.n ? &t->mem.rules[id] : NULL;
}

struct unwind_file *unwind_tables_file(const struct unwind_tables *t, uint32_t id)
{
	return id < UNWIND_FILES_MAX ? &t->mem.files[id] : NULL;
}

uint32_t unwind_tables_generation(const struct unwind_tables *t)
{
	return *t->mem.generation;
}
