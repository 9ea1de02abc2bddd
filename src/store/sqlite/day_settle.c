/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows are moved in the order in which they arrived: windows of one series and time keep it in the
 * numbers of their blocks.
 */
#include "store/sqlite/day_settle.h"

#include <errno.h>

#include <sqlite3.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "store/sqlite/arrivals.h"
#include "store/sqlite/db.h"

static const struct {
	size_t at; /* of the statement in struct day_settle */
	const char *sql;
} statements[] = {
#define STATEMENT(name, sql)                                                                       \
	{                                                                                          \
		offsetof(struct day_settle, name), sql                                             \
	}
	STATEMENT(put_chunk, "INSERT INTO chunks VALUES(?, ?, ?)"),
	STATEMENT(put_window, "INSERT INTO windows VALUES(?, ?, ?, ?)"),
	STATEMENT(put_block, "INSERT INTO blocks VALUES("
			     "max(coalesce((SELECT max(id) FROM blocks), 0), ?1) + 1, ?2)"),
	STATEMENT(put_profile, "INSERT OR IGNORE INTO profiles VALUES(?)"),
	STATEMENT(put_times, "INSERT INTO times VALUES(?, ?)"),
	STATEMENT(put_owners, "INSERT INTO owners VALUES(?, ?)"),
	STATEMENT(put_id, "INSERT INTO ids VALUES(?, ?)"),
	STATEMENT(put_traced, "INSERT INTO traced VALUES(?, ?, ?)"),
#undef STATEMENT
};

enum { N_STATEMENTS = sizeof(statements) / sizeof(statements[0]) };

static struct sqlite3_stmt **statement(struct day_settle *s, size_t i)
{
	return (struct sqlite3_stmt **)((char *)s + statements[i].at);
}

int day_settle_init(struct day_settle *s, struct sqlite3 *db, bool checked, struct err *err)
{
	int format = 0, r = db_format(db, &format, err);

	*s = (struct day_settle){ .db = db, .checked = checked };
	for (size_t i = 0; r == 0 && i < N_STATEMENTS; i++)
		r = db_prepare(db, statements[i].sql, statement(s, i), err);
	if (r == 0 && format >= DB_FORMAT_ARRIVALS)
		r = db_prepare(db, ARRIVALS_LIST, &s->list, err);
	s->has_packs = format >= DB_FORMAT_PACKS;
	if (r == 0 && s->has_packs)
		r = db_number(db, "SELECT max(block) FROM packs", &s->packed, err);
	return r;
}

void day_settle_fini(struct day_settle *s)
{
	for (size_t i = 0; i < N_STATEMENTS; i++)
		db_finalize(*statement(s, i));
	db_finalize(s->list);
	buf_fini(&s->sealed);
	*s = (struct day_settle){ 0 };
}

/* Binds what is in @sealed with a checksum. */
static int bind_sealed(struct day_settle *s, struct sqlite3_stmt *stmt, int at)
{
	db_seal(&s->sealed, s->checked);
	if (buf_error(&s->sealed))
		return -ENOMEM;
	return sqlite3_bind_blob64(stmt, at, s->sealed.data, s->sealed.len, SQLITE_TRANSIENT) ==
			       SQLITE_OK
		       ? 0
		       : -ENOMEM;
}

static void begin_blob(struct day_settle *s, const struct arrivals_blob *blob)
{
	s->sealed.len = 0;
	s->sealed.error = 0;
	buf_put(&s->sealed, blob->data, blob->len);
}

static int bind_blob(struct day_settle *s, struct sqlite3_stmt *stmt, int at,
		     const struct arrivals_blob *blob)
{
	begin_blob(s, blob);
	return bind_sealed(s, stmt, at);
}

static int run(struct day_settle *s, struct sqlite3_stmt *stmt, struct err *err)
{
	int r = db_step(s->db, stmt, err);

	sqlite3_clear_bindings(stmt);
	return r;
}

/* Adds a row of a block's number and a blob. */
static int put_blob(struct day_settle *s, struct sqlite3_stmt *stmt, int64_t block,
		    const struct arrivals_blob *blob, struct err *err)
{
	int r = bind_blob(s, stmt, 2, blob);

	sqlite3_bind_int64(stmt, 1, block);
	return r < 0 ? r : run(s, stmt, err);
}

static int put_block(struct day_settle *s, const struct arrivals_blob *blob, int64_t *out,
		     struct err *err)
{
	int r = bind_blob(s, s->put_block, 2, blob);

	sqlite3_bind_int64(s->put_block, 1, s->packed);
	if (r == 0)
		r = run(s, s->put_block, err);
	*out = sqlite3_last_insert_rowid(s->db);
	return r;
}

static int put_head(struct day_settle *s, const struct arrivals_window *w, int64_t block,
		    struct err *err)
{
	int r;

	begin_blob(s, &w->head);
	if (s->has_packs && w->has_id)
		window_put_id(w->id, &s->sealed);
	r = bind_sealed(s, s->put_window, 4);
	sqlite3_bind_int64(s->put_window, 1, w->series);
	sqlite3_bind_int64(s->put_window, 2, w->time_ns);
	sqlite3_bind_int64(s->put_window, 3, block);
	return r < 0 ? r : run(s, s->put_window, err);
}

static int put_id(struct day_settle *s, int64_t id, int64_t block, struct err *err)
{
	sqlite3_bind_int64(s->put_id, 1, id);
	sqlite3_bind_int64(s->put_id, 2, block);
	return run(s, s->put_id, err);
}

static int put_traced(struct day_settle *s, const struct arrivals_window *w, int64_t block,
		      struct err *err)
{
	struct wire traced = wire_of(w->traced.data, w->traced.len);
	struct arrivals_blob blob;
	struct store_trace_id id;
	int r;

	while ((r = arrivals_next_traced(&traced, &id, &blob)) > 0) {
		sqlite3_bind_int64(s->put_traced, 1, block);
		sqlite3_bind_blob(s->put_traced, 2, id.bytes, id.len, SQLITE_TRANSIENT);
		r = bind_blob(s, s->put_traced, 3, &blob);
		if (r == 0)
			r = run(s, s->put_traced, err);
		if (r < 0)
			return r;
	}
	return r;
}

static int put_window(struct day_settle *s, const struct arrivals_window *w, struct err *err)
{
	int64_t block = 0;
	int r = put_block(s, &w->block, &block, err);

	if (r == 0)
		r = put_head(s, w, block, err);
	if (r == 0 && w->has_id && !s->has_packs)
		r = put_id(s, w->id, block, err);
	if (r == 0 && w->times.len)
		r = put_blob(s, s->put_times, block, &w->times, err);
	if (r == 0 && w->times.len)
		r = put_blob(s, s->put_owners, block, &w->owners, err);
	return r < 0 ? r : put_traced(s, w, block, err);
}

static int put_key(struct day_settle *s, const uint8_t *key, struct err *err)
{
	sqlite3_bind_blob(s->put_profile, 1, key, WINDOW_KEY_LEN, SQLITE_STATIC);
	return run(s, s->put_profile, err);
}

static int put_chunk(struct day_settle *s, const struct arrivals_chunk *c, struct err *err)
{
	int r = bind_blob(s, s->put_chunk, 3, &c->data);

	sqlite3_bind_int64(s->put_chunk, 1, c->kind);
	sqlite3_bind_int64(s->put_chunk, 2, c->first);
	return r < 0 ? r : run(s, s->put_chunk, err);
}

int day_settle_items(struct day_settle *s, const void *items, size_t len, bool chunks,
		     struct err *err)
{
	struct wire w = wire_of(items, len);
	struct arrivals_item item;
	int r;

	while ((r = arrivals_next(&w, &item)) > 0) {
		if (item.kind == ARRIVALS_WINDOW)
			r = put_window(s, &item.window, err);
		else if (item.kind == ARRIVALS_KEY)
			r = put_key(s, item.key, err);
		else
			r = chunks ? put_chunk(s, &item.chunk, err) : 0;
		if (r < 0)
			break;
	}
	return r == -EBADMSG ? err_set(err, r, "what arrived last is damaged") : r;
}

int day_settle_all(struct day_settle *s, bool chunks, struct err *err)
{
	const void *data;
	size_t len;
	int r = 0;

	if (!s->list)
		return 0;
	while ((r = db_step(s->db, s->list, err)) > 0) {
		r = db_blob(s->list, 0, true, &data, &len);
		if (r == 0)
			r = day_settle_items(s, data, len, chunks, err);
		if (r < 0)
			break;
	}
	sqlite3_reset(s->list);
	return r < 0 ? r : db_exec(s->db, "DELETE FROM arrivals", err);
}

int day_settle_file(struct sqlite3 *db, struct err *err)
{
	_cleanup_(day_settle_fini) struct day_settle s = { 0 };
	int format = 0, r = db_format(db, &format, err);

	if (r < 0 || format < DB_FORMAT_ARRIVALS)
		return r;
	r = day_settle_init(&s, db, true, err);
	if (r == 0)
		r = db_exec(db, "BEGIN IMMEDIATE", err);
	if (r < 0)
		return r;
	r = day_settle_all(&s, true, err);
	if (r == 0)
		r = db_exec(db, "COMMIT", err);
	if (r < 0)
		db_exec(db, "ROLLBACK", NULL);
	return r;
}
