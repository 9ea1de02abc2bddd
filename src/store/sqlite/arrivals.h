/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The gains of a day since its tables were last written: a row of the table arrivals for each
 * transaction, with the new windows, the keys of profiles, and the new entries of the dictionary.
 * Appending a row writes one page, or few, however many tables its content belongs to; a larger
 * transaction moves it there (day_settle.h). A query reads both.
 *
 * A row is a sequence of items, each a number that names its kind and what follows it. Rows have
 * no header, so they can be appended to each other.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "codec/common/wire.h"
#include "store/store.h"
#include "store/window.h"

struct err;
struct sqlite3;
struct sqlite3_stmt;

struct arrivals_blob {
	const void *data;
	size_t len;
};

/* Entries of the dictionary (day_dict.h). */
struct arrivals_chunk {
	uint32_t kind, first;
	struct arrivals_blob data;
};

/* A window, with everything that the tables have of it. Blobs carry no checksum. */
struct arrivals_window {
	uint32_t series;
	bool has_id;
	int64_t time_ns, id; /* window_id_hash() */
	struct arrivals_blob head, block, times, owners, traced;
};

enum arrivals_kind { ARRIVALS_CHUNK = 1, ARRIVALS_KEY, ARRIVALS_WINDOW };

struct arrivals_item {
	enum arrivals_kind kind;
	union {
		struct arrivals_chunk chunk;
		struct arrivals_window window;
		const uint8_t *key; /* WINDOW_KEY_LEN bytes */
	};
};

/* Append an item to a row. The caller checks buf_error(). */
void arrivals_put_chunk(struct buf *row, uint32_t kind, uint32_t first, const struct buf *data);
void arrivals_put_key(struct buf *row, const uint8_t *key);
void arrivals_put_window(struct buf *row, const struct arrivals_window *w);

/* Appends the samples of one span or trace, a block, to what a window has as traced. */
void arrivals_put_traced(struct buf *traced, const struct store_trace_id *id,
			 const struct buf *block);

/*
 * Read the next item of @rows, or the next block of a window's traced samples. Return 1, 0 at the
 * end, or -EBADMSG. Pointers in @out are into the rows.
 */
int arrivals_next(struct wire *rows, struct arrivals_item *out);
int arrivals_next_traced(struct wire *traced, struct store_trace_id *out_id,
			 struct arrivals_blob *out_block);

/* All rows of a file, and their windows by series and time. Zero-initialize it. */
struct arrivals {
	struct buf rows;
	struct {
		VEC(struct arrivals_window);
	} windows;
};

void arrivals_fini(struct arrivals *a);

/* Selects what arrivals_load() reads. Files of formats without the table have no rows. */
#define ARRIVALS_LIST "SELECT data, id FROM arrivals ORDER BY id"

/*
 * Fill @a, which is empty. arrivals_load() takes a prepared ARRIVALS_LIST, arrivals_read() prepares
 * it if the file has the table. Return 0; -EBADMSG with the reason if a row is damaged or missing;
 * -errno.
 */
int arrivals_load(struct arrivals *a, struct sqlite3 *db, struct sqlite3_stmt *list,
		  struct err *err);
int arrivals_read(struct arrivals *a, struct sqlite3 *db, struct err *err);

/* The windows of a series from @start_ns to @end_ns, both included, in order of time. */
const struct arrivals_window *arrivals_find(const struct arrivals *a, uint32_t series,
					    int64_t start_ns, int64_t end_ns, size_t *out_n);
