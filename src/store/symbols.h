/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the windows of one day refer to by number: strings, frames, the tree of
 * stacks and the series. It only grows; what is new since the last save is
 * written as one chunk a kind.
 *
 * A stack is the number of its leaf's node; a node's parent has a smaller
 * number than the node, and node 0 is the root of all.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct buf;
struct symbols;

struct symbols_frame {
	uint32_t name, file, binary; /* string ids */
	uint32_t line;               /* where the function starts */
	uint32_t kind;               /* enum profile_frame_kind << 1 | inlined */
};

struct symbols_node {
	uint32_t parent, frame;
};

/*
 * A series is a row of numbers whose meaning is the caller's (store/series.h).
 */
enum symbols_kind {
	SYMBOLS_STRINGS,
	SYMBOLS_FRAMES,
	SYMBOLS_NODES,
	SYMBOLS_SERIES,
	SYMBOLS_KIND_MAX,
};

int symbols_new(struct symbols **out);
void symbols_free(struct symbols *s);

DEFINE_FREEP(struct symbols, symbols_free)

/* Interning: 0 or -ENOMEM. */
int symbols_add_string(struct symbols *s, const char *str, size_t len, uint32_t *out_id);
int symbols_add_frame(struct symbols *s, const struct symbols_frame *f, uint32_t *out_id);
int symbols_add_node(struct symbols *s, uint32_t parent, uint32_t frame, uint32_t *out_id);
int symbols_add_series(struct symbols *s, const uint32_t *words, size_t n, uint32_t *out_id);

/* Make room for so many nodes more. 0 or -ENOMEM. */
int symbols_reserve_nodes(struct symbols *s, size_t n);

uint32_t symbols_count(const struct symbols *s, enum symbols_kind kind);
const char *symbols_string(const struct symbols *s, uint32_t id);
size_t symbols_string_len(const struct symbols *s, uint32_t id);
const struct symbols_frame *symbols_frame(const struct symbols *s, uint32_t id);
const struct symbols_node *symbols_nodes(const struct symbols *s);
const uint32_t *symbols_series(const struct symbols *s, uint32_t id, size_t *out_n);
size_t symbols_bytes(const struct symbols *s);

/* Append things @first..count of a kind, compressed. 0 or -ENOMEM. */
int symbols_write(const struct symbols *s, enum symbols_kind kind, uint32_t first, struct buf *out);

/*
 * Add a chunk that symbols_write() made, after all that came before it. 0;
 * -EBADMSG when it is none; -ENOMEM.
 */
int symbols_read(struct symbols *s, enum symbols_kind kind, const void *data, size_t len);
