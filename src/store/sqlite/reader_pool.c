/* SPDX-License-Identifier: Apache-2.0 */
/* A released reader keeps its connection and its prepared statements for the next query. */
#include "store/sqlite/reader_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <sqlite3.h>

#include "base/cleanup.h"
#include "store/sqlite/arrivals.h"
#include "store/sqlite/db.h"
#include "store/sqlite/page_sums.h"

enum {
	MAX_IDLE = 4,
	MIN_OPEN_DAYS = 6,
	MAX_OPEN_DAYS = 256,
	DESCRIPTORS_PER_DAY = 16, /* three of each connection */
};

static void reader_free(struct reader *r)
{
	if (!r)
		return;
	db_finalize(r->windows);
	db_finalize(r->blocks);
	db_finalize(r->times);
	db_finalize(r->samples);
	db_finalize(r->any);
	db_finalize(r->packs);
	db_finalize(r->packed);
	db_finalize(r->times_of);
	pack_fini(&r->pack);
	pack_reader_fini(&r->pack_reader);
	for (int i = 0; i < ROLLUP_N_LEVELS; i++)
		db_finalize(r->sums[i]);
	db_finalize(r->arrivals);
	db_close(r->db);
	free(r);
}

DEFINE_FREEP(struct reader, reader_free)

void reader_pool_init(struct reader_pool *rs, const char *path, enum db_mode mode)
{
	*rs = (struct reader_pool){ .path = path, .mode = mode };
	pthread_mutex_init(&rs->lock, NULL);
}

void reader_pool_fini(struct reader_pool *rs)
{
	for (size_t i = 0; i < rs->idle.len; i++)
		reader_free(rs->idle.data[i]);
	vec_fini(&rs->idle);
	pthread_mutex_destroy(&rs->lock);
}

static int reader_new(struct reader **out, const char *path, enum db_mode mode, struct err *err)
{
	_cleanup_(reader_freep) struct reader *rd = calloc(1, sizeof(*rd));
	int format = 0, r;

	if (!rd)
		return -ENOMEM;
	r = db_open(&rd->db, path, mode, err);
	if (r == 0 && mode == DB_REPLICA)
		r = db_add_missing(rd->db, err);
	if (r == 0)
		r = db_format(rd->db, &format, err);
	rd->checked = format >= DB_FORMAT_CHECKED;
	if (r == 0)
		r = db_prepare(rd->db,
			       "SELECT time, head, block FROM windows"
			       " WHERE series=? AND time BETWEEN ? AND ?",
			       &rd->windows, err);
	if (r == 0)
		r = db_prepare(rd->db,
			       "SELECT w.time, w.head, b.data, b.id FROM windows w JOIN blocks b"
			       " ON b.id=w.block WHERE w.series=? AND w.time BETWEEN ? AND ?",
			       &rd->blocks, err);
	if (r == 0)
		r = db_prepare(rd->db,
			       "SELECT w.time, w.head, t.data FROM windows w LEFT JOIN times t"
			       " ON t.block=w.block WHERE w.series=? AND w.time BETWEEN ? AND ?",
			       &rd->times, err);
	if (r == 0)
		r = db_prepare(rd->db,
			       "SELECT w.time, w.head, b.data, t.data, o.data FROM windows w"
			       " JOIN blocks b ON b.id=w.block JOIN times t ON t.block=w.block"
			       " JOIN owners o ON o.block=w.block"
			       " WHERE w.series=? AND w.time BETWEEN ? AND ?",
			       &rd->samples, err);
	if (r == 0)
		r = db_prepare(
			rd->db,
			"SELECT 1 FROM windows WHERE series=? AND time BETWEEN ? AND ? LIMIT 1",
			&rd->any, err);
	for (int i = 0; r == 0 && i < ROLLUP_N_LEVELS; i++)
		r = db_prepare(rd->db,
			       "SELECT head, data, start FROM sums WHERE series=? AND level=?"
			       " AND start BETWEEN ? AND ? ORDER BY start",
			       &rd->sums[i], err);
	if (r < 0)
		return r;
	*out = steal_ptr(&rd);
	return 0;
}

static int prepare_packs(struct reader *rd, struct err *err)
{
	int r = 0;

	if (!rd->packs)
		r = db_prepare(rd->db,
			       "SELECT heads, id, first, last FROM packs WHERE series=?"
			       " AND start BETWEEN ? AND ? ORDER BY start",
			       &rd->packs, err);
	if (r == 0 && !rd->packed)
		r = db_prepare(rd->db, "SELECT data FROM packed WHERE id=?", &rd->packed, err);
	return r < 0 ? r
		     : db_prepare(rd->db,
				  "SELECT t.data, o.data FROM times t LEFT JOIN owners o"
				  " ON o.block=t.block WHERE t.block=?",
				  &rd->times_of, err);
}

/*
 * The first read of a transaction fixes the state of the file that it sees. It may have got more
 * tables.
 */
static int begin(struct reader *rd, struct err *err)
{
	int format = 0, r = db_exec(rd->db, "BEGIN; SELECT 1 FROM windows LIMIT 1", err);

	if (r == 0 && !rd->times_of)
		r = db_format(rd->db, &format, err);
	if (r == 0 && !rd->arrivals && format >= DB_FORMAT_ARRIVALS)
		r = db_prepare(rd->db, ARRIVALS_LIST, &rd->arrivals, err);
	return r < 0 || rd->times_of || format < DB_FORMAT_PACKS ? r : prepare_packs(rd, err);
}

int reader_pool_acquire(struct reader_pool *rs, struct reader **out, struct err *err)
{
	int r = 0;

	pthread_mutex_lock(&rs->lock);
	if (rs->idle.len) {
		*out = rs->idle.data[--rs->idle.len];
		rs->bytes -= (*out)->bytes;
	}
	pthread_mutex_unlock(&rs->lock);
	if (!*out)
		r = reader_new(out, rs->path, rs->mode, err);
	return r < 0 ? r : begin(*out, err);
}

/* A connection without locks can be used again only if its owner notices changes of the file. */
static bool is_reusable(const struct reader_pool *rs, const struct reader *rd)
{
	return rs->mode == DB_REPLICA || !page_sums_is_fixed(rd->db);
}

void reader_pool_release(struct reader_pool *rs, struct reader *rd)
{
	db_exec(rd->db, "END", NULL);
	rd->bytes = db_cache_bytes(rd->db) + pack_bytes(&rd->pack, &rd->pack_reader);
	pthread_mutex_lock(&rs->lock);
	if (rs->idle.len < MAX_IDLE && is_reusable(rs, rd) && vec_push(&rs->idle, rd) == 0) {
		rs->bytes += rd->bytes;
		rd = NULL;
	}
	pthread_mutex_unlock(&rs->lock);
	reader_free(rd);
}

size_t reader_pool_bytes(struct reader_pool *rs)
{
	size_t bytes;

	pthread_mutex_lock(&rs->lock);
	bytes = rs->bytes;
	pthread_mutex_unlock(&rs->lock);
	return bytes;
}

/* Half of the descriptors are for connections of clients. */
size_t reader_pool_max_days(void)
{
	struct rlimit files = { .rlim_cur = RLIM_INFINITY };
	rlim_t n;

	getrlimit(RLIMIT_NOFILE, &files);
	n = files.rlim_cur / 2 / DESCRIPTORS_PER_DAY;
	return n < MIN_OPEN_DAYS ? MIN_OPEN_DAYS : n > MAX_OPEN_DAYS ? MAX_OPEN_DAYS : n;
}
