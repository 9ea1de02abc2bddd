/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A dictionary of strings, frames, stacks and series, to which windows refer by id. It only grows;
 * entries added since the last save are written as one chunk per kind.
 *
 * Threads: one at a time may add, read chunks, reserve, limit and count bytes. Any other may look
 * up entries at the same time without a lock: entries never move. It may use the ids below a
 * stack_dict_count() that it has read, and the ids to which these entries refer.
 *
 * Stacks form a tree: a stack is identified by the node of its leaf. A node's parent has a smaller
 * id than the node, and node 0 is the root.
 *
 * Ids are positions: reading chunks in the order in which they were written gives every entry its
 * old id, which is what windows on disk depend on. For the same reason, entries cannot be removed.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/stable.h"

struct buf;
struct stack_dict;

struct stack_dict_frame {
	uint32_t name, file, binary; /* string ids */
	uint32_t line;               /* the function's first line */
	uint32_t kind;               /* enum profile_frame_kind << 1 | inlined */
};

struct stack_dict_node {
	uint32_t parent, frame;
};

/* Kinds of entries. A series is a row of words whose meaning is the caller's (store/series.h). */
enum stack_dict_kind {
	STACK_DICT_STRINGS,
	STACK_DICT_FRAMES,
	STACK_DICT_NODES,
	STACK_DICT_SERIES,
	STACK_DICT_KIND_MAX,
};

/*
 * Creates a dictionary with the empty string (id 0) and the root node (id 0). Returns 0 or -ENOMEM.
 */
int stack_dict_new(struct stack_dict **out);
void stack_dict_free(struct stack_dict *s);

DEFINE_FREEP(struct stack_dict, stack_dict_free)

/*
 * Limits the memory of the dictionary: beyond it, entries that exist are still found, and adding
 * another one fails with -ENOBUFS. Chunks are read whatever the limit. The arrays grow by
 * doubling, so it may be exceeded by their last step. 0 for none.
 */
void stack_dict_limit(struct stack_dict *s, size_t bytes);

/* Memory in bytes. */
size_t stack_dict_bytes(const struct stack_dict *s);

/* Find or add an entry. Return 0, -ENOBUFS beyond the limit, or -ENOMEM. */
int stack_dict_add_string(struct stack_dict *s, const char *str, size_t len, uint32_t *out_id);
int stack_dict_add_frame(struct stack_dict *s, const struct stack_dict_frame *f, uint32_t *out_id);
int stack_dict_add_node(struct stack_dict *s, uint32_t parent, uint32_t frame, uint32_t *out_id);
int stack_dict_add_series(struct stack_dict *s, const uint32_t *words, size_t n, uint32_t *out_id);

/* Makes room for @n more nodes. Returns 0 or -ENOMEM. */
int stack_dict_reserve_nodes(struct stack_dict *s, size_t n);

/* Lookups borrow from the dictionary as long as it lives. */
uint32_t stack_dict_count(const struct stack_dict *s, enum stack_dict_kind kind);
const char *stack_dict_string(const struct stack_dict *s, uint32_t id);
size_t stack_dict_string_len(const struct stack_dict *s, uint32_t id);
const struct stack_dict_frame *stack_dict_frame(const struct stack_dict *s, uint32_t id);
const struct stable *stack_dict_nodes(const struct stack_dict *s);
const uint32_t *stack_dict_series(const struct stack_dict *s, uint32_t id, size_t *out_n);

/* Loops over nodes read them from the array itself, without a call for each. */
static inline const struct stack_dict_node *stack_dict_node(const struct stable *nodes, uint32_t id)
{
	return stable_at(nodes, id);
}

/*
 * Appends the entries of a kind from @first on, compressed, to @out, up to a size that can be read
 * back. *@out_end is the first entry that is not in this chunk. Returns 0 or -ENOMEM.
 */
int stack_dict_write(const struct stack_dict *s, enum stack_dict_kind kind, uint32_t first,
		     struct buf *out, uint32_t *out_end);

/*
 * Adds a chunk of stack_dict_write(). The chunks before it must have been added. Returns 0,
 * -EBADMSG if it is malformed, or -ENOMEM; after an error the dictionary may hold a part of it.
 */
int stack_dict_read(struct stack_dict *s, enum stack_dict_kind kind, const void *data, size_t len);
