/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/day_ids.h"

#include <stdlib.h>

#include <sqlite3.h>

#include "store/sqlite/db.h"
#include "store/window.h"

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Ids are few (a client lists them), so each is one look-up. */
int day_ids_find(struct day_ids *out, struct sqlite3 *db, const char *const *ids, size_t n,
		 struct err *err)
{
	struct sqlite3_stmt *stmt = NULL;
	int r = db_prepare(db, "SELECT block FROM ids WHERE id=?", &stmt, err);

	for (size_t i = 0; r == 0 && i < n; i++) {
		sqlite3_bind_int64(stmt, 1, window_id_hash(ids[i]));
		while ((r = db_step(db, stmt, err)) > 0) {
			r = vec_push(out, sqlite3_column_int64(stmt, 0));
			if (r < 0)
				break;
		}
	}
	db_finalize(stmt);
	if (out->len)
		qsort(out->data, out->len, sizeof(*out->data), compare);
	return r;
}

bool day_ids_has(const struct day_ids *blocks, int64_t block)
{
	return blocks->len &&
	       bsearch(&block, blocks->data, blocks->len, sizeof(*blocks->data), compare);
}
