/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Packs: the windows of a series in two hours as one row (store/pack.h), in place of a row in each
 * table for each of them. A pack is built next to the writer once its time has been quiet for an
 * hour, with the sum of these two hours; the sums of ten minutes within go away, as a query reads
 * the pack as fast. Times, threads and spans of samples stay in their tables, which refer to
 * windows by the numbers of their blocks. A late window stands next to the pack until the slot is
 * packed again.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "store/pack.h"
#include "store/sqlite/rollup.h"

struct err;
struct reader;
struct sqlite3;
struct sqlite3_stmt;

enum { DAY_PACK_MIN = 4 /* windows; fewer stay in the tables */ };

/* Numbers of blocks that no window refers to any more. */
struct day_pack_dead {
	VEC(int64_t);
};

/* Buffers for building, reused from slot to slot. Zero-initialize it. */
struct day_pack_builder {
	struct pack old, late, all;
	struct block block;
	struct pack_reader reader;
	struct pack_writer writer;
	struct {
		VEC(int64_t);
	} values;
	struct {
		VEC(uint32_t);
	} nodes;
};

void day_pack_builder_fini(struct day_pack_builder *b);

/* A pack and its place. Zero-initialize it. */
struct day_pack {
	struct rollup_slot slot; /* with the windows that were in the tables */
	size_t n_windows;        /* of the pack; 0: the slot is not packed */
	int64_t first_ns, last_ns, last_block;
	struct buf heads, rows;
	struct rollup_sum sum;
	struct day_pack_dead dead; /* the blocks of its windows that were in the tables */
};

void day_pack_fini(struct day_pack *p);

/*
 * Builds the pack of @p->slot from the old one and from the windows in the tables. Returns 0 or
 * -errno; -EBADMSG for a node beyond @n_nodes. A slot with too few or too many windows gets no
 * pack, which is not an error. The builder stays usable after a failure.
 */
int day_pack_build(struct day_pack_builder *b, struct reader *rd, struct day_pack *p,
		   uint32_t n_types, uint32_t n_nodes, struct err *err);

/* The blobs of a pack, as its file has them; borrowed. */
struct day_pack_blobs {
	const void *heads, *rows;
	size_t heads_len, rows_len;
};

/* Takes them from a row, heads from column @at. Returns 0 or -EBADMSG. */
int day_pack_read_blobs(struct sqlite3_stmt *row, int at, struct day_pack_blobs *out);

/* Reads all of a pack to @b->old. Returns 0, -EBADMSG or -ENOMEM. */
int day_pack_read(struct day_pack_builder *b, const struct day_pack_blobs *blobs);

/* Encodes the windows of @b->all, of which there is one at least. Returns 0 or -ENOMEM. */
int day_pack_write(struct day_pack_builder *b, struct day_pack *out);

/* The statements of the connection that writes; zero-initialize it. */
struct day_pack_writer {
	struct sqlite3 *db;
	struct sqlite3_stmt *count, *drop_rows, *put_rows, *put_heads, *drop_windows, *drop_sums,
		*put_sum, *drop_block;
};

/* Returns 0 or -errno; then day_pack_writer_fini() is called all the same. */
int day_pack_writer_init(struct day_pack_writer *w, struct sqlite3 *db, struct err *err);
void day_pack_writer_fini(struct day_pack_writer *w);

/*
 * Stores a pack in place of its windows, in the caller's transaction. Returns 1; 0 if the slot has
 * changed since it was built; -errno.
 */
int day_pack_put(struct day_pack_writer *w, const struct day_pack *p, struct err *err);

/* Stores a pack whose slot has none. Returns 0 or -errno. */
int day_pack_insert(struct day_pack_writer *w, const struct day_pack *p, struct err *err);

/*
 * Deletes the last @n of the blocks in @dead, which are sorted. Blocks of all series share pages,
 * which are thus written once and not once for each pack. Returns 0 or -errno.
 */
int day_pack_drop_blocks(struct day_pack_writer *w, const struct day_pack_dead *dead, size_t n,
			 struct err *err);

/*
 * Search a day that was opened: adds slots to pack to @due, and blocks that no window refers to,
 * since a process ended before it deleted them, to @dead. Return 0 or -errno.
 */
int day_pack_search(struct sqlite3 *db, struct rollup_due *due, struct err *err);
int day_pack_search_dead(struct sqlite3 *db, struct day_pack_dead *dead, struct err *err);
