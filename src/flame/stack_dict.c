/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In memory, each kind is a hash table. On disk, what was added between two saves is a zstd frame
 * of varints. A chunk may come from a damaged file, so every number is checked, and that no entry
 * occurs twice, because ids are positions in the tables.
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
#include "base/strtab.h"
#include "base/vec.h"
#include "codec/common/wire.h"
#include "profile/seqtab.h"

enum {
	LEVEL = 3,
	FRAME_WORDS = 5,
	MAX_SERIES_WORDS = 4096,
	MAX_RAW = 512 << 20,
	FULL_RAW = 16 << 20, /* a chunk ends with the entry that reaches this size */
};

struct stack_dict {
	struct strtab *strings;
	struct seqtab frames, series;
	struct {
		VEC(struct stack_dict_node);
	} nodes;
	struct index node_index;
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
	seqtab_init(&s->frames, sizeof(struct stack_dict_frame));
	seqtab_init(&s->series, sizeof(uint32_t));
	r = strtab_new(&s->strings);
	if (r < 0)
		return r;
	r = vec_push(&s->nodes, (struct stack_dict_node){ 0 });
	if (r < 0)
		return r;
	*out = steal_ptr(&s);
	return 0;
}

void stack_dict_free(struct stack_dict *s)
{
	if (!s)
		return;
	strtab_free(s->strings);
	seqtab_fini(&s->frames);
	seqtab_fini(&s->series);
	vec_fini(&s->nodes);
	index_fini(&s->node_index);
	free(s);
}

void stack_dict_limit(struct stack_dict *s, size_t bytes)
{
	s->limit = bytes;
}

size_t stack_dict_bytes(const struct stack_dict *s)
{
	return strtab_bytes(s->strings) + seqtab_bytes(&s->frames) + seqtab_bytes(&s->series) +
	       s->nodes.cap * sizeof(*s->nodes.data) +
	       s->node_index.n_slots * sizeof(*s->node_index.slots);
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

int stack_dict_add_frame(struct stack_dict *s, const struct stack_dict_frame *f, uint32_t *out_id)
{
	return is_full(s) ? found(seqtab_find(&s->frames, f, 1, out_id))
			  : seqtab_add(&s->frames, f, 1, out_id);
}

struct node_key {
	const struct stack_dict *s;
	struct stack_dict_node node;
};

static bool node_eq(const void *ctx, uint32_t id)
{
	const struct node_key *k = ctx;
	const struct stack_dict_node *n = &k->s->nodes.data[id];

	return n->parent == k->node.parent && n->frame == k->node.frame;
}

int stack_dict_add_node(struct stack_dict *s, uint32_t parent, uint32_t frame, uint32_t *out_id)
{
	struct node_key key = { s, { parent, frame } };
	uint32_t hash = hash_u64(((uint64_t)parent << 32 | frame) ^ s->seed);
	uint32_t id = (uint32_t)s->nodes.len;
	int r;

	if (index_find(&s->node_index, hash, node_eq, &key, out_id))
		return 0;
	if (s->nodes.len >= UINT32_MAX)
		return -ENOMEM;
	if (is_full(s))
		return -ENOBUFS;
	r = vec_reserve(&s->nodes, s->nodes.len + 1);
	if (r == 0)
		r = index_add(&s->node_index, hash, id);
	if (r < 0)
		return r;
	s->nodes.data[s->nodes.len++] = key.node;
	*out_id = id;
	return 0;
}

int stack_dict_reserve_nodes(struct stack_dict *s, size_t n)
{
	int r = vec_reserve(&s->nodes, s->nodes.len + n);

	return r < 0 ? r : index_reserve(&s->node_index, s->nodes.len + n);
}

int stack_dict_add_series(struct stack_dict *s, const uint32_t *words, size_t n, uint32_t *out_id)
{
	return is_full(s) ? found(seqtab_find(&s->series, words, n, out_id))
			  : seqtab_add(&s->series, words, n, out_id);
}

uint32_t stack_dict_count(const struct stack_dict *s, enum stack_dict_kind kind)
{
	switch (kind) {
	case STACK_DICT_STRINGS:
		return strtab_count(s->strings);
	case STACK_DICT_FRAMES:
		return seqtab_count(&s->frames);
	case STACK_DICT_NODES:
		return (uint32_t)s->nodes.len;
	case STACK_DICT_SERIES:
		return seqtab_count(&s->series);
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
	return seqtab_get(&s->frames, id, NULL);
}

const struct stack_dict_node *stack_dict_nodes(const struct stack_dict *s)
{
	return s->nodes.data;
}

const uint32_t *stack_dict_series(const struct stack_dict *s, uint32_t id, size_t *out_n)
{
	return seqtab_get(&s->series, id, out_n);
}

/*
 * Encodes one entry. A node stores the distance to its parent, which is small and compresses well.
 */
static void put_one(const struct stack_dict *s, enum stack_dict_kind kind, uint32_t id,
		    struct buf *out)
{
	const uint32_t *words;
	size_t n = FRAME_WORDS;

	switch (kind) {
	case STACK_DICT_STRINGS:
		wire_put_varint(out, stack_dict_string_len(s, id));
		buf_put(out, stack_dict_string(s, id), stack_dict_string_len(s, id));
		return;
	case STACK_DICT_NODES:
		wire_put_varint(out, id - s->nodes.data[id].parent);
		wire_put_varint(out, s->nodes.data[id].frame);
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
	uint32_t up, frame;

	if (get_word(w, &up) < 0 || get_word(w, &frame) < 0 || !up || up > s->nodes.len ||
	    frame >= seqtab_count(&s->frames))
		return -EBADMSG;
	return stack_dict_add_node(s, (uint32_t)s->nodes.len - up, frame, out_id);
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
