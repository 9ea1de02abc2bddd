/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In memory, each kind is an array whose elements do not move, and a hash index that only the
 * appending thread uses. An entry is complete before the array's length includes it. On disk, what
 * was added between two saves is a zstd frame of varints. A chunk may come from a damaged file, so
 * every number is checked. No entry may occur twice, because ids are positions in the tables.
 *
 * A chunk has entries of one kind: similar numbers compress better together, and each kind refers
 * only to kinds that are read before it. Strings and frames are hashed with a seed, because
 * profiles come from untrusted senders.
 */
#include "flame/stack_dict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/stable.h"
#include "base/strtab.h"
#include "codec/common/wire.h"

enum {
	LEVEL = 3,
	FRAME_WORDS = 5,
	MAX_SERIES_WORDS = 4096,
	MAX_RAW = 512 << 20,
	FULL_RAW = 16 << 20, /* a chunk ends with the entry that reaches this size */
};

struct series_row {
	uint32_t *words; /* owned */
	size_t n;
};

struct stack_dict {
	struct strtab *strings;
	struct stable frames, nodes, series; /* of stack_dict_frame, stack_dict_node, series_row */
	struct index frame_index, node_index, series_index;
	size_t series_bytes;
	uint64_t seed;
	size_t limit; /* bytes; 0 for none */
};

_Static_assert(sizeof(struct stack_dict_frame) == FRAME_WORDS * sizeof(uint32_t), "no padding");

int stack_dict_new(struct stack_dict **out)
{
	_cleanup_(stack_dict_freep) struct stack_dict *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->seed = hash_seed();
	stable_init(&s->frames, sizeof(struct stack_dict_frame));
	stable_init(&s->nodes, sizeof(struct stack_dict_node));
	stable_init(&s->series, sizeof(struct series_row));
	r = strtab_new(&s->strings);
	if (r == 0)
		r = stable_push(&s->nodes, &(struct stack_dict_node){ 0 });
	if (r < 0)
		return r;
	*out = steal_ptr(&s);
	return 0;
}

static const struct series_row *series_at(const struct stack_dict *s, uint32_t id)
{
	return stable_at(&s->series, id);
}

void stack_dict_free(struct stack_dict *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < stable_len(&s->series); i++)
		free(series_at(s, i)->words);
	strtab_free(s->strings);
	stable_fini(&s->frames);
	stable_fini(&s->nodes);
	stable_fini(&s->series);
	index_fini(&s->frame_index);
	index_fini(&s->node_index);
	index_fini(&s->series_index);
	free(s);
}

void stack_dict_limit(struct stack_dict *s, size_t bytes)
{
	s->limit = bytes;
}

static size_t table_bytes(const struct stable *a, const struct index *ix)
{
	return stable_bytes(a) + ix->n_slots * sizeof(*ix->slots);
}

size_t stack_dict_bytes(const struct stack_dict *s)
{
	return strtab_bytes(s->strings) + table_bytes(&s->frames, &s->frame_index) +
	       table_bytes(&s->nodes, &s->node_index) + table_bytes(&s->series, &s->series_index) +
	       s->series_bytes;
}

static bool is_full(const struct stack_dict *s)
{
	return s->limit && stack_dict_bytes(s) >= s->limit;
}

/* The result of a search in a full dictionary. */
static int found(int r)
{
	return r == -ENOENT ? -ENOBUFS : r;
}

int stack_dict_add_string(struct stack_dict *s, const char *str, size_t len, uint32_t *out_id)
{
	return is_full(s) ? found(strtab_find(s->strings, str, len, out_id))
			  : strtab_add(s->strings, str, len, out_id);
}

/* Appends an entry that does not exist. Nothing changes if it fails. */
static int append(struct stack_dict *s, struct stable *to, struct index *ix, uint32_t hash,
		  const void *entry, uint32_t *out_id)
{
	uint32_t id = stable_len(to);
	int r;

	if (is_full(s))
		return -ENOBUFS;
	r = stable_reserve(to, (size_t)id + 1);
	if (r == 0)
		r = index_add(ix, hash, id);
	if (r < 0)
		return r;
	*out_id = id;
	return stable_push(to, entry);
}

struct frame_key {
	const struct stack_dict *s;
	const struct stack_dict_frame *frame;
};

static bool frame_eq(const void *ctx, uint32_t id)
{
	const struct frame_key *k = ctx;

	return !memcmp(stack_dict_frame(k->s, id), k->frame, sizeof(*k->frame));
}

int stack_dict_add_frame(struct stack_dict *s, const struct stack_dict_frame *f, uint32_t *out_id)
{
	struct frame_key key = { s, f };
	uint32_t hash = hash_seeded(s->seed, f, sizeof(*f));

	return index_find(&s->frame_index, hash, frame_eq, &key, out_id)
		       ? 0
		       : append(s, &s->frames, &s->frame_index, hash, f, out_id);
}

struct node_key {
	const struct stack_dict *s;
	struct stack_dict_node node;
};

static bool node_eq(const void *ctx, uint32_t id)
{
	const struct node_key *k = ctx;
	const struct stack_dict_node *n = stack_dict_node(&k->s->nodes, id);

	return n->parent == k->node.parent && n->frame == k->node.frame;
}

int stack_dict_add_node(struct stack_dict *s, uint32_t parent, uint32_t frame, uint32_t *out_id)
{
	struct node_key key = { s, { parent, frame } };
	uint32_t hash = hash_u64((uint64_t)parent << 32 | frame);

	return index_find(&s->node_index, hash, node_eq, &key, out_id)
		       ? 0
		       : append(s, &s->nodes, &s->node_index, hash, &key.node, out_id);
}

int stack_dict_reserve_nodes(struct stack_dict *s, size_t n)
{
	int r = stable_reserve(&s->nodes, stable_len(&s->nodes) + n);

	return r < 0 ? r : index_reserve(&s->node_index, stable_len(&s->nodes) + n);
}

struct series_key {
	const struct stack_dict *s;
	const uint32_t *words;
	size_t n;
};

static bool series_eq(const void *ctx, uint32_t id)
{
	const struct series_key *k = ctx;
	const struct series_row *row = series_at(k->s, id);

	return row->n == k->n && (!k->n || !memcmp(row->words, k->words, k->n * sizeof(*k->words)));
}

int stack_dict_add_series(struct stack_dict *s, const uint32_t *words, size_t n, uint32_t *out_id)
{
	const struct series_key key = { s, words, n };
	uint32_t hash = hash_seeded(s->seed, words, n * sizeof(*words));
	struct series_row row = { .n = n };
	int r;

	if (index_find(&s->series_index, hash, series_eq, &key, out_id))
		return 0;
	row.words = malloc((n + !n) * sizeof(*words));
	if (!row.words)
		return -ENOMEM;
	if (n)
		memcpy(row.words, words, n * sizeof(*words));
	r = append(s, &s->series, &s->series_index, hash, &row, out_id);
	if (r < 0)
		free(row.words);
	else
		s->series_bytes += n * sizeof(*words);
	return r;
}

uint32_t stack_dict_count(const struct stack_dict *s, enum stack_dict_kind kind)
{
	switch (kind) {
	case STACK_DICT_STRINGS:
		return strtab_count(s->strings);
	case STACK_DICT_FRAMES:
		return stable_len(&s->frames);
	case STACK_DICT_NODES:
		return stable_len(&s->nodes);
	case STACK_DICT_SERIES:
		return stable_len(&s->series);
	default:
		return 0;
	}
}

const char *stack_dict_string(const struct stack_dict *s, uint32_t id)
{
	return strtab_get(s->strings, id);
}

size_t stack_dict_string_len(const struct stack_dict *s, uint32_t id)
{
	return strtab_len(s->strings, id);
}

const struct stack_dict_frame *stack_dict_frame(const struct stack_dict *s, uint32_t id)
{
	return stable_at(&s->frames, id);
}

const struct stable *stack_dict_nodes(const struct stack_dict *s)
{
	return &s->nodes;
}

const uint32_t *stack_dict_series(const struct stack_dict *s, uint32_t id, size_t *out_n)
{
	const struct series_row *row = series_at(s, id);

	if (out_n)
		*out_n = row->n;
	return row->words;
}

/*
 * Encodes one entry. A node stores the distance to its parent, which is small and compresses well.
 */
static void put_one(const struct stack_dict *s, enum stack_dict_kind kind, uint32_t id,
		    struct buf *out)
{
	const struct stack_dict_node *node;
	const uint32_t *words;
	size_t n = FRAME_WORDS;

	switch (kind) {
	case STACK_DICT_STRINGS:
		wire_put_varint(out, stack_dict_string_len(s, id));
		buf_put(out, stack_dict_string(s, id), stack_dict_string_len(s, id));
		return;
	case STACK_DICT_NODES:
		node = stack_dict_node(&s->nodes, id);
		wire_put_varint(out, id - node->parent);
		wire_put_varint(out, node->frame);
		return;
	case STACK_DICT_FRAMES:
		words = (const uint32_t *)stack_dict_frame(s, id);
		break;
	default:
		words = stack_dict_series(s, id, &n);
		wire_put_varint(out, n);
	}
	for (size_t i = 0; i < n; i++)
		wire_put_varint(out, words[i]);
}

int stack_dict_write(const struct stack_dict *s, enum stack_dict_kind kind, uint32_t first,
		     struct buf *out, uint32_t *out_end)
{
	_cleanup_(buf_fini) struct buf raw = { 0 };
	_cleanup_(freep) void *to = NULL;
	uint32_t id = first;
	size_t bound, len;

	while (id < stack_dict_count(s, kind) && raw.len < FULL_RAW && !buf_error(&raw))
		put_one(s, kind, id++, &raw);
	*out_end = id;
	if (buf_error(&raw))
		return -ENOMEM;
	bound = ZSTD_compressBound(raw.len);
	to = malloc(bound);
	if (!to)
		return -ENOMEM;
	len = ZSTD_compress(to, bound, raw.data, raw.len, LEVEL);
	if (ZSTD_isError(len))
		return -ENOMEM;
	buf_put(out, to, len);
	return buf_error(out);
}

static int get_word(struct wire *w, uint32_t *out)
{
	uint64_t v;

	if (wire_varint(w, &v) <= 0 || v > UINT32_MAX)
		return -EBADMSG;
	*out = (uint32_t)v;
	return 0;
}

static int get_words(struct wire *w, uint32_t *out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (get_word(w, &out[i]) < 0)
			return -EBADMSG;
	return 0;
}

static int get_string(struct stack_dict *s, struct wire *w, uint32_t *out_id)
{
	uint64_t len;
	int r;

	if (wire_varint(w, &len) <= 0 || len > wire_len(*w))
		return -EBADMSG;
	r = strtab_add(s->strings, (const char *)w->p, (size_t)len, out_id);
	w->p += len;
	return r;
}

static int get_frame(struct stack_dict *s, struct wire *w, uint32_t *out_id)
{
	uint32_t n_strings = strtab_count(s->strings), words[FRAME_WORDS];
	struct stack_dict_frame f;

	if (get_words(w, words, FRAME_WORDS) < 0)
		return -EBADMSG;
	memcpy(&f, words, sizeof(f));
	if (f.name >= n_strings || f.file >= n_strings || f.binary >= n_strings)
		return -EBADMSG;
	return stack_dict_add_frame(s, &f, out_id);
}

/* A distance of 0 or more than the next id would make a cycle or a parent that does not exist. */
static int get_node(struct stack_dict *s, struct wire *w, uint32_t *out_id)
{
	uint32_t up, frame, n = stable_len(&s->nodes);

	if (get_word(w, &up) < 0 || get_word(w, &frame) < 0 || !up || up > n ||
	    frame >= stable_len(&s->frames))
		return -EBADMSG;
	return stack_dict_add_node(s, n - up, frame, out_id);
}

static int get_series(struct stack_dict *s, struct wire *w, uint32_t *out_id)
{
	uint32_t words[MAX_SERIES_WORDS], n;

	if (get_word(w, &n) < 0 || n > MAX_SERIES_WORDS || get_words(w, words, n) < 0)
		return -EBADMSG;
	return stack_dict_add_series(s, words, n, out_id);
}

/*
 * Adds the entries of a chunk. An entry that gets another id than the next one was a duplicate, so
 * the chunk is damaged.
 */
static int read_raw(struct stack_dict *s, enum stack_dict_kind kind, struct wire w)
{
	uint32_t id, expected;
	int r = 0;

	while (r == 0 && w.p < w.end) {
		expected = stack_dict_count(s, kind);
		if (kind == STACK_DICT_STRINGS)
			r = get_string(s, &w, &id);
		else if (kind == STACK_DICT_FRAMES)
			r = get_frame(s, &w, &id);
		else if (kind == STACK_DICT_NODES)
			r = get_node(s, &w, &id);
		else
			r = get_series(s, &w, &id);
		if (r == 0 && id != expected)
			r = -EBADMSG;
	}
	return r;
}

/*
 * An unknown size is greater than MAX_RAW as well: ZSTD reports it as a number close to 2^64. The
 * size is thus known and limited before memory is allocated.
 */
int stack_dict_read(struct stack_dict *s, enum stack_dict_kind kind, const void *data, size_t len)
{
	unsigned long long raw_len = ZSTD_getFrameContentSize(data, len);
	_cleanup_(freep) void *raw = NULL;

	if (raw_len > MAX_RAW)
		return -EBADMSG;
	raw = malloc(raw_len ? (size_t)raw_len : 1);
	if (!raw)
		return -ENOMEM;
	if (ZSTD_decompress(raw, (size_t)raw_len, data, len) != raw_len)
		return -EBADMSG;
	return read_raw(s, kind, wire_of(raw, (size_t)raw_len));
}
