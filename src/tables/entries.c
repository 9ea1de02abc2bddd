/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ids of a location are looked up once and remembered, so that a stack costs one copy of its
 * frames' ids. Entries are equal if name, binary and kind are; the file is that of the first one
 * seen, because users think of functions, not of places in files.
 *
 * All names are interned in a table of their own, because some are composed (addresses, lines,
 * "name (id)") and are not in the profile.
 */
#include "tables/entries.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/frame_name.h"
#include "profile/profile.h"

struct entry_row {
	uint32_t name, binary, file; /* string ids in strings */
	uint8_t kind;
};

struct entries {
	const struct profile *p;
	enum entries_by by;
	const char *key;
	struct entries *functions; /* of ENTRIES_BY_WAKER */
	struct strtab *strings;
	struct {
		VEC(struct entry_row);
	} rows;
	struct index index;
	struct {
		uint32_t first, n; /* its range in ids; n is 0 before the first lookup */
	} * places;                /* by location */
	struct {
		VEC(uint32_t);
	} ids, stack;
	struct buf text;
};

int entries_new(struct entries **out, const struct profile *p, enum entries_by by, const char *key)
{
	_cleanup_(entries_freep) struct entries *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return -ENOMEM;
	e->p = p;
	e->by = by;
	e->key = key;
	e->places = calloc((size_t)profile_n_locations(p) + 1, sizeof(*e->places));
	if (!e->places)
		return -ENOMEM;
	r = strtab_new(&e->strings);
	if (r == 0 && by == ENTRIES_BY_WAKER)
		r = entries_new(&e->functions, p, ENTRIES_BY_FUNCTION, NULL);
	if (r < 0)
		return r;
	*out = steal_ptr(&e);
	return 0;
}

void entries_free(struct entries *e)
{
	if (!e)
		return;
	entries_free(e->functions);
	strtab_free(e->strings);
	vec_fini(&e->rows);
	index_fini(&e->index);
	free(e->places);
	vec_fini(&e->ids);
	vec_fini(&e->stack);
	buf_fini(&e->text);
	free(e);
}

struct row_key {
	const struct entries *e;
	const struct entry_row *row;
};

static bool row_eq(const void *ctx, uint32_t id)
{
	const struct row_key *k = ctx;
	const struct entry_row *a = &k->e->rows.data[id], *b = k->row;

	return a->name == b->name && a->binary == b->binary && a->kind == b->kind;
}

static int add_row(struct entries *e, const struct entry_row *row, uint32_t *out_id)
{
	struct row_key key = { e, row };
	uint32_t hash =
		hash_u64((uint64_t)row->name << 32 ^ (uint64_t)row->binary << 8 ^ row->kind);
	int r;

	if (index_find(&e->index, hash, row_eq, &key, out_id))
		return 0;
	*out_id = (uint32_t)e->rows.len;
	r = vec_push(&e->rows, *row);
	return r < 0 ? r : index_add(&e->index, hash, *out_id);
}

static int add_text(struct entries *e, uint32_t *out_id)
{
	if (buf_error(&e->text))
		return -ENOMEM;
	return strtab_add(e->strings, (const char *)e->text.data, e->text.len, out_id);
}

/* Adds a string of the profile. */
static int add_string(struct entries *e, uint32_t id, uint32_t *out_id)
{
	return strtab_add(e->strings, profile_string(e->p, id), profile_string_len(e->p, id),
			  out_id);
}

static void put_binary(struct entries *e, const struct profile_location *l)
{
	uint32_t file = l->mapping == PROFILE_NONE ? 0 : profile_mapping(e->p, l->mapping)->file;

	if (file)
		buf_put(&e->text, profile_string(e->p, file), profile_string_len(e->p, file));
	else
		buf_put_str(&e->text, "[unknown binary]");
}

static void put_file(struct entries *e, const struct profile_function *f)
{
	if (f && f->file)
		buf_put(&e->text, profile_string(e->p, f->file), profile_string_len(e->p, f->file));
	else
		buf_put_str(&e->text, "[unknown file]");
}

/* Appends the name of the row for frame @i of a location; @f is its function or NULL. */
static void put_name(struct entries *e, const struct profile_location *l, uint32_t i,
		     const struct profile_function *f)
{
	switch (e->by) {
	case ENTRIES_BY_BINARY:
		put_binary(e, l);
		break;
	case ENTRIES_BY_FILE:
		put_file(e, f);
		break;
	case ENTRIES_BY_LANGUAGE:
		buf_put_str(&e->text, profile_frame_kind_label(l->kind));
		break;
	case ENTRIES_BY_LINE:
	case ENTRIES_BY_COLUMN:
		profile_put_frame_name(e->p, l, i, &e->text);
		buf_put_byte(&e->text, ' ');
		put_file(e, f);
		if (f && l->lines[i].line)
			buf_printf(&e->text, ":%u", l->lines[i].line);
		if (f && l->lines[i].line && l->lines[i].column && e->by == ENTRIES_BY_COLUMN)
			buf_printf(&e->text, ":%u", l->lines[i].column);
		break;
	default:
		profile_put_frame_name(e->p, l, i, &e->text);
	}
}

/* Rows of binaries and files have neither kind nor binary, so frames of all kinds share them. */
static int add_frame(struct entries *e, const struct profile_location *l, uint32_t i,
		     uint32_t *out_id)
{
	const struct profile_function *f =
		i < l->n_lines ? profile_function(e->p, l->lines[i].function) : NULL;
	bool code = e->by == ENTRIES_BY_FUNCTION || e->by == ENTRIES_BY_LINE ||
		    e->by == ENTRIES_BY_COLUMN;
	bool has_kind = code || e->by == ENTRIES_BY_LANGUAGE;
	struct entry_row row = { .kind = has_kind ? l->kind : PROFILE_FRAME_UNKNOWN };
	int r;

	e->text.len = 0;
	put_name(e, l, i, f);
	r = add_text(e, &row.name);
	if (r == 0 && code && l->mapping != PROFILE_NONE)
		r = add_string(e, profile_mapping(e->p, l->mapping)->file, &row.binary);
	if (r == 0 && code && f)
		r = add_string(e, f->file, &row.file);
	return r < 0 ? r : add_row(e, &row, out_id);
}

/* Finds the ids of a location's frames, innermost first. */
static int find_location(struct entries *e, uint32_t id, uint32_t *out_first, uint32_t *out_n)
{
	struct profile_location l;
	uint32_t first = (uint32_t)e->ids.len;

	*out_first = e->places[id].first;
	*out_n = e->places[id].n;
	if (*out_n)
		return 0;
	l = profile_location(e->p, id);
	*out_n = profile_location_n_frames(&l);
	for (uint32_t i = 0; i < *out_n; i++) {
		uint32_t row;
		int r = add_frame(e, &l, i, &row);

		if (r == 0)
			r = vec_push(&e->ids, row);
		if (r < 0)
			return r;
	}
	e->places[id].first = first;
	e->places[id].n = *out_n;
	*out_first = first;
	return 0;
}

/* Returns true for the frame that separates a waiting thread from the one that ended the wait. */
static bool is_waker(const struct entry *f)
{
	return !strncmp(f->name, "[woken by ", strlen("[woken by ")) ||
	       !strcmp(f->name, "[waker unknown]") || !strcmp(f->name, "[not woken yet]");
}

/* Returns true for code through which programs wait: the kernel and the C library. */
static bool is_waiting_code(const struct entry *f)
{
	static const char *const libraries[] = { "libc.so", "libc-", "libpthread", "ld-",
						 "[vdso]" };
	const char *slash = strrchr(f->binary, '/'), *name = slash ? slash + 1 : f->binary;

	if (f->kind == PROFILE_FRAME_KERNEL || f->kind == PROFILE_FRAME_ERROR)
		return true;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
		if (!strncmp(name, libraries[i], strlen(libraries[i])))
			return true;
	return false;
}

/* Appends the innermost function of @ids outside of waiting code, or else the innermost one. */
static void put_waiter(struct entries *e, const uint32_t *ids, size_t n)
{
	struct entry f = { .name = "[no stack]" };
	size_t i = 0;

	for (; i < n; i++) {
		f = entries_get(e->functions, ids[i]);
		if (!is_waiting_code(&f))
			break;
	}
	if (n && i == n)
		f = entries_get(e->functions, ids[0]);
	buf_put_str(&e->text, f.name);
}

/* Finds the row of a stack: its wakers are at the leaf, so the first one is nearest to the root. */
static int find_wait(struct entries *e, uint32_t stack, uint32_t *out_id)
{
	struct entry_row row = { 0 };
	const char *waker = "[no waker recorded]";
	const uint32_t *ids;
	size_t n, from = 0;
	int r = entries_of_stack(e->functions, stack, &ids, &n);

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct entry f = entries_get(e->functions, ids[i]);

		if (!is_waker(&f))
			continue;
		waker = f.name;
		from = i + 1;
	}
	if (r < 0)
		return r;
	e->text.len = 0;
	put_waiter(e, ids + from, n - from);
	buf_printf(&e->text, " %s", waker);
	r = add_text(e, &row.name);
	return r < 0 ? r : add_row(e, &row, out_id);
}

static int wait_of_stack(struct entries *e, uint32_t stack, const uint32_t **out_ids, size_t *out_n)
{
	uint32_t id;
	int r = find_wait(e, stack, &id);

	e->stack.len = 0;
	if (r == 0)
		r = vec_push(&e->stack, id);
	*out_ids = e->stack.data;
	*out_n = e->stack.len;
	return r;
}

int entries_of_stack(struct entries *e, uint32_t stack, const uint32_t **out_ids, size_t *out_n)
{
	size_t depth;
	const uint32_t *locations = profile_stack(e->p, stack, &depth);

	if (e->by == ENTRIES_BY_WAKER)
		return wait_of_stack(e, stack, out_ids, out_n);
	e->stack.len = 0;
	for (size_t k = 0; k < depth; k++) {
		uint32_t first, n;
		int r = find_location(e, locations[k], &first, &n);

		if (r == 0)
			r = vec_reserve(&e->stack, e->stack.len + n);
		if (r < 0)
			return r;
		memcpy(e->stack.data + e->stack.len, e->ids.data + first, n * sizeof(uint32_t));
		e->stack.len += n;
	}
	*out_ids = e->stack.data;
	*out_n = e->stack.len;
	return 0;
}

static const struct profile_label *find_label(const struct entries *e,
					      const struct profile_sample *s, const char *key)
{
	for (uint32_t i = 0; i < s->n_labels; i++)
		if (!strcmp(profile_string(e->p, s->labels[i].key), key))
			return &s->labels[i];
	return NULL;
}

static void put_label(struct entries *e, const struct profile_label *l)
{
	if (l->str)
		buf_put(&e->text, profile_string(e->p, l->str), profile_string_len(e->p, l->str));
	else
		buf_printf(&e->text, "%" PRId64, l->num);
}

/* Appends "name (id)", or only the name or the id if the sample lacks the other. */
static void put_named(struct entries *e, const struct profile_sample *s, const char *name_key,
		      const char *id_key)
{
	const struct profile_label *name = find_label(e, s, name_key);
	const struct profile_label *id = find_label(e, s, id_key);

	if (name)
		put_label(e, name);
	if (!id)
		return;
	if (name)
		buf_put_str(&e->text, " (");
	put_label(e, id);
	if (name)
		buf_put_byte(&e->text, ')');
}

/* The thread label is preferred to comm, which is that of the process. */
int entries_of_labels(struct entries *e, const struct profile_sample *s, uint32_t *out_id)
{
	struct entry_row row = { 0 };
	const struct profile_label *l;
	int r;

	e->text.len = 0;
	if (e->by == ENTRIES_BY_PROCESS) {
		put_named(e, s, "comm", "pid");
	} else if (e->by == ENTRIES_BY_THREAD) {
		put_named(e, s, find_label(e, s, "thread") ? "thread" : "comm", "tid");
	} else {
		l = find_label(e, s, e->key);
		if (l)
			put_label(e, l);
	}
	if (!e->text.len)
		buf_put_str(&e->text, "[not labelled]");
	r = add_text(e, &row.name);
	return r < 0 ? r : add_row(e, &row, out_id);
}

uint32_t entries_count(const struct entries *e)
{
	return (uint32_t)e->rows.len;
}

struct entry entries_get(const struct entries *e, uint32_t id)
{
	const struct entry_row *row = &e->rows.data[id];

	return (struct entry){
		.name = strtab_get(e->strings, row->name),
		.binary = strtab_get(e->strings, row->binary),
		.file = strtab_get(e->strings, row->file),
		.kind = row->kind,
	};
}
