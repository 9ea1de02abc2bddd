/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions are a tree: a node is a function in the context that it was inlined into. Children
 * are found through an index of (parent, place, name), so that adding costs the same in a function
 * with many lines.
 *
 * Format: llvm/include/llvm/ProfileData/SampleProfReader.h.
 */
#include "pgo/llvm_profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/strtab.h"
#include "base/vec.h"

enum { ROOT = 0, OFFSET_MASK = 0xffff, DEPTH_MAX = 128 };

/* A line of a function: its distance from the function's first line, and its discriminator. */
struct place {
	uint32_t offset, discriminator;
};

/* A function in its context, or the samples of one place in it (name 0). */
struct node {
	uint32_t parent;
	uint32_t name; /* of an inlined function; 0: these are samples of the place itself */
	struct place at;
	uint64_t count; /* samples of the place, or of the function with all that is inlined */
};

struct llvm_profile {
	struct strtab *names;
	struct {
		VEC(struct node);
	} nodes;           /* 0 is the root; parents come before their children */
	uint32_t *buckets; /* numbers of nodes, 0: empty; open addressing */
	size_t n_buckets;  /* a power of two */
};

int llvm_profile_new(struct llvm_profile **out)
{
	_cleanup_(llvm_profile_freep) struct llvm_profile *p = calloc(1, sizeof(*p));
	int r = p ? strtab_new(&p->names) : -ENOMEM;
	uint32_t empty;

	if (r == 0)
		r = strtab_add(p->names, "", 0, &empty); /* its id is 0, which no function has */
	if (r == 0)
		r = vec_push(&p->nodes, (struct node){ 0 });
	if (r == 0)
		*out = steal_ptr(&p);
	return r;
}

void llvm_profile_free(struct llvm_profile *p)
{
	if (!p)
		return;
	strtab_free(p->names);
	vec_fini(&p->nodes);
	free(p->buckets);
	free(p);
}

/* ---- nodes ------------------------------------------------------------------------------ */

static uint64_t hash(const struct node *n)
{
	uint64_t h = n->parent;

	h = (h ^ n->name) * 0x9e3779b97f4a7c15ULL;
	h = (h ^ n->at.offset ^ (uint64_t)n->at.discriminator << 32) * 0x9e3779b97f4a7c15ULL;
	return h ^ h >> 32;
}

static bool is_same(const struct node *a, const struct node *b)
{
	return a->parent == b->parent && a->name == b->name && a->at.offset == b->at.offset &&
	       a->at.discriminator == b->at.discriminator;
}

/* Returns the bucket of a node, which is empty if the node is not there. */
static uint32_t *bucket_of(const struct llvm_profile *p, const struct node *n)
{
	size_t i = hash(n) & (p->n_buckets - 1);

	while (p->buckets[i] && !is_same(&p->nodes.data[p->buckets[i]], n))
		i = (i + 1) & (p->n_buckets - 1);
	return &p->buckets[i];
}

static int grow(struct llvm_profile *p)
{
	size_t n = p->n_buckets ? p->n_buckets * 2 : 64;
	uint32_t *buckets;

	if (p->nodes.len * 2 < p->n_buckets)
		return 0;
	buckets = calloc(n, sizeof(*buckets));
	if (!buckets)
		return -ENOMEM;
	free(p->buckets);
	p->buckets = buckets;
	p->n_buckets = n;
	for (uint32_t i = 1; i < p->nodes.len; i++)
		*bucket_of(p, &p->nodes.data[i]) = i;
	return 0;
}

/* Finds or adds a node. Returns 0 or -ENOMEM. */
static int get_node(struct llvm_profile *p, const struct node *n, uint32_t *out)
{
	int r = p->nodes.len < UINT32_MAX ? grow(p) : -ENOMEM;
	uint32_t *bucket = r == 0 ? bucket_of(p, n) : NULL;

	if (r == 0 && !*bucket) {
		r = vec_push(&p->nodes, *n);
		if (r == 0)
			*bucket = (uint32_t)p->nodes.len - 1;
	}
	if (r == 0)
		*out = *bucket;
	return r;
}

/* ---- adding ----------------------------------------------------------------------------- */

/* The name without what compilers append to copies and parts of a function (".cold", ".llvm.1"). */
static int add_name(struct llvm_profile *p, const char *name, uint32_t *out)
{
	const char *dot = *name ? strchr(name + 1, '.') : NULL;

	return strtab_add(p->names, name, dot ? (size_t)(dot - name) : strlen(name), out);
}

/* Distances are modulo 2^16, as LLVM computes them. */
static struct place place_of(const struct llvm_frame *f)
{
	return (struct place){ (f->line - f->start_line) & OFFSET_MASK, f->discriminator };
}

static int add_count(struct llvm_profile *p, const struct node *key, uint64_t count, uint32_t *out)
{
	int r = get_node(p, key, out);

	if (r == 0 &&
	    __builtin_add_overflow(p->nodes.data[*out].count, count, &p->nodes.data[*out].count))
		p->nodes.data[*out].count = UINT64_MAX;
	return r;
}

int llvm_profile_add(struct llvm_profile *p, const struct llvm_frame *frames, size_t n,
		     uint64_t count)
{
	struct node key = { .parent = ROOT };
	uint32_t at = ROOT;
	int r = 0;

	for (size_t i = 0; i < n; i++)
		if (!frames[i].line || !frames[i].start_line || !*frames[i].name)
			return -ENODATA;
	if (!n || n > DEPTH_MAX)
		return -ENODATA;
	for (size_t i = n; r == 0 && i > 0; i--) {
		r = add_name(p, frames[i - 1].name, &key.name);
		if (r == 0)
			r = add_count(p, &key, count, &at);
		key = (struct node){ .parent = at, .at = place_of(&frames[i - 1]) };
	}
	return r < 0 ? r : add_count(p, &key, count, &at);
}

size_t llvm_profile_n_functions(const struct llvm_profile *p)
{
	size_t n = 0;

	for (size_t i = 1; i < p->nodes.len; i++)
		n += p->nodes.data[i].parent == ROOT;
	return n;
}

/* ---- writing ---------------------------------------------------------------------------- */

struct writer {
	const struct llvm_profile *p;
	struct buf *out;
	uint32_t *order; /* nodes by parent, then by place */
	uint32_t *first; /* by node: its first child in order; the next node's is the end */
};

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Functions that were not inlined come in order of their count, the greatest first. */
static int by_place(const void *a, const void *b, void *ctx)
{
	const struct llvm_profile *p = ctx;
	const struct node *x = &p->nodes.data[*(const uint32_t *)a];
	const struct node *y = &p->nodes.data[*(const uint32_t *)b];
	int r = compare(x->parent, y->parent);

	if (!r && x->parent == ROOT)
		r = compare(y->count, x->count);
	if (!r)
		r = compare(x->at.offset, y->at.offset);
	if (!r)
		r = compare(x->at.discriminator, y->at.discriminator);
	return r ? r : strcmp(strtab_get(p->names, x->name), strtab_get(p->names, y->name));
}

static void put_place(struct writer *w, const struct node *n, unsigned int depth)
{
	buf_printf(w->out, "%*s%" PRIu32, (int)depth, "", n->at.offset);
	if (n->at.discriminator)
		buf_printf(w->out, ".%" PRIu32, n->at.discriminator);
	buf_put_str(w->out, ": ");
}

/* In order of their places; the samples of a place come before what is inlined there. */
static void put_body(struct writer *w, uint32_t function, unsigned int depth)
{
	for (uint32_t i = w->first[function]; i < w->first[function + 1]; i++) {
		const struct node *n = &w->p->nodes.data[w->order[i]];

		put_place(w, n, depth);
		if (!n->name) {
			buf_printf(w->out, "%" PRIu64 "\n", n->count);
			continue;
		}
		buf_printf(w->out, "%s:%" PRIu64 "\n", strtab_get(w->p->names, n->name), n->count);
		put_body(w, w->order[i], depth + 1); /* at most DEPTH_MAX levels */
	}
}

/* The samples of the line where a function begins; its opening brace may be in the next one. */
static uint64_t head_of(const struct writer *w, uint32_t function)
{
	uint64_t most = 0;

	for (uint32_t i = w->first[function]; i < w->first[function + 1]; i++) {
		const struct node *n = &w->p->nodes.data[w->order[i]];

		if (!n->name && n->at.offset <= 1 && n->count > most)
			most = n->count;
	}
	return most;
}

static int sort(struct writer *w)
{
	const struct llvm_profile *p = w->p;
	size_t n = p->nodes.len, next = 0;

	w->order = calloc(n + 1, sizeof(*w->order));
	w->first = calloc(n + 2, sizeof(*w->first));
	if (!w->order || !w->first)
		return -ENOMEM;
	for (uint32_t i = 1; i < n; i++)
		w->order[i - 1] = i;
	if (n > 1)
		qsort_r(w->order, n - 1, sizeof(*w->order), by_place, (void *)p);
	for (uint32_t i = 0; i <= n; i++) {
		while (next < n - 1 && p->nodes.data[w->order[next]].parent < i)
			next++;
		w->first[i] = (uint32_t)next;
	}
	return 0;
}

int llvm_profile_write(const struct llvm_profile *p, struct buf *out)
{
	struct writer w = { .p = p, .out = out };
	int r = sort(&w);

	for (uint32_t i = 0; r == 0 && i < w.first[ROOT + 1]; i++) {
		const struct node *n = &p->nodes.data[w.order[i]];

		buf_printf(out, "%s:%" PRIu64 ":%" PRIu64 "\n", strtab_get(p->names, n->name),
			   n->count, head_of(&w, w.order[i]));
		put_body(&w, w.order[i], 1);
	}
	free(w.order);
	free(w.first);
	return r < 0 ? r : buf_error(out);
}
