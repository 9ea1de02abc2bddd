/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds one sorted table of functions from symbol tables. Every symbol that names code becomes a
 * candidate of 24 bytes, with a level: functions before labels, .symtab before .dynsym before PLT
 * stubs. Candidates are sorted once by address; among those at one address the best is kept, and
 * one that begins inside a function of a better level is dropped. The result is two arrays and one
 * block of names, 20 bytes per symbol; a search only reads the 8 bytes of addresses.
 *
 * Ranges may overlap and nest. Each symbol has a link to the nearest one before it that is still
 * open at its start, so a search that misses the last symbol before an address follows these links
 * outwards.
 *
 * A malicious file costs no more than a large one: everything is linear or a sort, and names are
 * bounded one by one and in sum.
 */
#include "elf/symtab.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/bisect.h"
#include "base/buf.h"
#include "base/err.h"
#include "elf/function_extents.h"
#include "elf/symbol_candidates.h"

enum { NESTING_MAX = 64 };

#define NO_PARENT UINT32_MAX

struct symbol_info {
	uint32_t size;
	uint32_t name;
	uint32_t parent;
};

struct elf_symtab {
	uint64_t *starts;
	struct symbol_info *infos;
	size_t n;
	struct buf names;
	void *block; /* the block that holds the three arrays; NULL if each has its own */
};

/* One pass of sort_by_address(): by the byte at @shift, keeping the order of equal ones. */
static void distribute(struct candidate *to, const struct candidate *from, size_t n, int shift)
{
	size_t at[256] = { 0 }, sum = 0;

	for (size_t i = 0; i < n; i++)
		at[from[i].vaddr >> shift & 0xff]++;
	for (int i = 0; i < 256; i++) {
		size_t count = at[i];

		at[i] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[at[from[i].vaddr >> shift & 0xff]++] = from[i];
}

/* A radix sort that skips the bytes in which all keys agree: it takes a tenth of qsort()'s time. */
static int sort_by_address(struct candidates *l)
{
	struct candidate *from = l->all.data, *to;
	uint64_t differ = 0;

	for (size_t i = 1; i < l->all.len; i++)
		differ |= from[i].vaddr ^ from[0].vaddr;
	if (!differ)
		return 0;
	to = malloc(l->all.cap * sizeof(*to));
	if (!to)
		return -ENOMEM;
	for (int shift = 0; shift < 64; shift += 8) {
		struct candidate *swap = from;

		if (!(differ >> shift & 0xff))
			continue;
		distribute(to, from, l->all.len, shift);
		from = to;
		to = swap;
	}
	l->all.data = from;
	free(to);
	return 0;
}

static bool starts_inside(const struct candidate *c, const uint64_t covered[LEVEL_MAX])
{
	for (unsigned int level = 0; level < c->level; level++)
		if (covered[level] > c->vaddr)
			return true;
	return false;
}

/* Keeps one candidate per address, and none inside a function of a better level. */
static void thin_out(struct candidates *l)
{
	uint64_t covered[LEVEL_MAX] = {
		0
	}; /* address up to which the functions of each level reach */
	struct candidate *c = l->all.data;
	size_t n = 0;

	for (size_t i = 0, same; i < l->all.len; i += same) {
		struct candidate best;

		for (same = 1; i + same < l->all.len && c[i + same].vaddr == c[i].vaddr;)
			same++;
		best = candidates_choose(l, &c[i], same);
		if (starts_inside(&best, covered) || !candidates_have_name(l, &best))
			continue;
		if (best.vaddr + best.size > covered[best.level])
			covered[best.level] = best.vaddr + best.size;
		c[n++] = best;
	}
	l->all.len = n;
}

/* The nearest symbol before @i that is still open where @i begins. */
static uint32_t parent_of(const struct elf_symtab *t, size_t i)
{
	uint32_t p = i ? (uint32_t)i - 1 : NO_PARENT;

	while (p != NO_PARENT && t->starts[p] + t->infos[p].size <= t->starts[i])
		p = t->infos[p].parent;
	return p;
}

/*
 * A symbol without a size extends to the end of its function (see elf/function_extents.h), at most
 * to the next symbol, or its section's or parent's end: functions whose symbols were stripped would
 * otherwise carry the name of a label before them.
 */
static uint32_t size_of(struct candidates *l, const struct elf_symtab *t, size_t i, uint32_t parent)
{
	const struct candidate *c = &l->all.data[i];
	uint64_t end = c->vaddr + candidates_code_left(l, c->vaddr);

	if (c->size)
		return c->size;
	if (i + 1 < l->all.len && c[1].vaddr < end)
		end = c[1].vaddr;
	if (parent != NO_PARENT && t->starts[parent] + t->infos[parent].size < end)
		end = t->starts[parent] + t->infos[parent].size;
	if (l->extents || function_extents_new(&l->extents, l->img) == 0)
		end = function_extents_end(l->extents, c->vaddr, end);
	return end - c->vaddr < UINT32_MAX ? (uint32_t)(end - c->vaddr) : UINT32_MAX;
}

static int add_symbol(struct elf_symtab *t, struct candidates *l, size_t i)
{
	const struct candidate *c = &l->all.data[i];
	struct alias_name name = candidates_name(l, c);
	uint32_t parent;

	t->starts[i] = c->vaddr;
	parent = parent_of(t, i);
	t->infos[i] = (struct symbol_info){
		.size = size_of(l, t, i, parent),
		.name = (uint32_t)t->names.len,
		.parent = parent,
	};
	t->n = i + 1;
	buf_put(&t->names, name.s, name.len);
	if (candidate_level_is_plt(c->level))
		buf_put_str(&t->names, "@plt");
	buf_put_byte(&t->names, '\0');
	if (t->names.len > ELF_NAMES_MAX || candidates_too_many_names(l))
		return err_set(l->err, -E2BIG, "more than %d bytes of names", ELF_NAMES_MAX);
	return buf_error(&t->names);
}

/* Frees the unused part of the block of names, which grew by doubling. */
static void trim_names(struct buf *names)
{
	void *p = names->len ? realloc(names->data, names->len) : NULL;

	if (p) {
		names->data = p;
		names->cap = names->len;
	}
}

static int build(struct elf_symtab *t, struct candidates *l)
{
	size_t n = l->all.len;

	if (candidates_too_many_names(l))
		return err_set(l->err, -E2BIG, "more than %d bytes of names", ELF_NAMES_MAX);
	if (!n)
		return 0;
	t->starts = malloc(n * sizeof(*t->starts));
	t->infos = malloc(n * sizeof(*t->infos));
	if (!t->starts || !t->infos)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		int r = add_symbol(t, l, i);

		if (r < 0)
			return r;
	}
	trim_names(&t->names);
	return 0;
}

int elf_symtab_load(struct elf_symtab **out, const struct elf_image *img, unsigned int sources,
		    struct err *err)
{
	_cleanup_(elf_symtab_freep) struct elf_symtab *t = calloc(1, sizeof(*t));
	_cleanup_(candidates_fini) struct candidates l = { .img = img, .err = err };
	int r;

	if (!t)
		return -ENOMEM;
	r = candidates_collect(&l, sources);
	if (r < 0)
		return r;
	r = sort_by_address(&l);
	if (r < 0)
		return r;
	thin_out(&l);
	r = build(t, &l);
	if (r < 0)
		return r;
	*out = steal_ptr(&t);
	return 0;
}

void elf_symtab_free(struct elf_symtab *t)
{
	if (!t)
		return;
	if (t->block) {
		free(t->block);
	} else {
		free(t->starts);
		free(t->infos);
		buf_fini(&t->names);
	}
	free(t);
}

struct saved {
	uint64_t n, names_len;
};

void elf_symtab_save(const struct elf_symtab *t, struct buf *out)
{
	const struct saved head = { t->n, t->names.len };

	buf_put(out, &head, sizeof(head));
	buf_put(out, t->starts, t->n * sizeof(*t->starts));
	buf_put(out, t->infos, t->n * sizeof(*t->infos));
	buf_put(out, t->names.data, t->names.len);
}

/* Checks everything on which lookups rely. */
static bool is_sound(const struct elf_symtab *t)
{
	if (t->n && (!t->names.len || t->names.data[t->names.len - 1]))
		return false;
	for (size_t i = 0; i < t->n; i++) {
		const struct symbol_info *s = &t->infos[i];

		if (s->name >= t->names.len || (s->parent != NO_PARENT && s->parent >= i) ||
		    (i && t->starts[i] <= t->starts[i - 1]))
			return false;
	}
	return true;
}

static int check_saved(const struct saved *head, size_t len)
{
	if (head->n > ELF_SYMBOLS_MAX || head->names_len > ELF_NAMES_MAX)
		return -EBADMSG;
	return len == sizeof(*head) + head->n * (sizeof(uint64_t) + sizeof(struct symbol_info)) +
				       head->names_len
		       ? 0
		       : -EBADMSG;
}

int elf_symtab_restore(struct elf_symtab **out, void *block, size_t offset, size_t len)
{
	_cleanup_(elf_symtab_freep) struct elf_symtab *t = calloc(1, sizeof(*t));
	uint8_t *p = (uint8_t *)block + offset;
	struct saved head;

	if (!t) {
		free(block);
		return -ENOMEM;
	}
	t->block = block;
	if (len < sizeof(head) || offset % sizeof(uint64_t))
		return -EBADMSG;
	memcpy(&head, p, sizeof(head));
	if (check_saved(&head, len) < 0)
		return -EBADMSG;
	t->n = head.n;
	t->starts = (uint64_t *)(p + sizeof(head));
	t->infos = (struct symbol_info *)(t->starts + t->n);
	t->names.data = (uint8_t *)(t->infos + t->n);
	t->names.len = t->names.cap = head.names_len;
	if (!is_sound(t))
		return -EBADMSG;
	*out = steal_ptr(&t);
	return 0;
}

void elf_symtab_at(const struct elf_symtab *t, size_t i, struct elf_symbol *out)
{
	*out = (struct elf_symbol){
		.vaddr = t->starts[i],
		.size = t->infos[i].size,
		.name = (const char *)t->names.data + t->infos[i].name,
	};
}

int elf_symtab_find(const struct elf_symtab *t, uint64_t vaddr, struct elf_symbol *out)
{
	size_t lo = bisect(t->n, i, t->starts[i] <= vaddr);
	uint32_t at;

	at = lo ? (uint32_t)lo - 1 : NO_PARENT;
	for (int i = 0; i < NESTING_MAX && at != NO_PARENT; i++) {
		if (vaddr - t->starts[at] < t->infos[at].size) {
			elf_symtab_at(t, at, out);
			return 0;
		}
		at = t->infos[at].parent;
	}
	return -ENOENT;
}

int elf_symtab_by_name(const struct elf_symtab *t, const char *name, struct elf_symbol *out)
{
	for (size_t i = 0; i < t->n; i++) {
		if (!strcmp((const char *)t->names.data + t->infos[i].name, name)) {
			elf_symtab_at(t, i, out);
			return 0;
		}
	}
	return -ENOENT;
}

size_t elf_symtab_count(const struct elf_symtab *t)
{
	return t->n;
}

size_t elf_symtab_bytes(const struct elf_symtab *t)
{
	return sizeof(*t) + t->n * (sizeof(*t->starts) + sizeof(*t->infos)) + t->names.cap;
}
