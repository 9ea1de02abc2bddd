/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Statements to a ClickHouse and their answers. Any thread. Errors: -ECONNREFUSED when it
 * can't be reached, -ETIMEDOUT, -ENOMEM and -ENOSPC when it says so, -EAGAIN when it has to merge
 * first, -EFBIG for an answer beyond CLICK_MAX_ANSWER, -EIO for what else it refuses.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct buf;
struct click_http;
struct err;

enum { CLICK_MAX_ANSWER = 256 << 20 };

int click_http_new(struct click_http **out, const char *url, struct err *err);
void click_http_free(struct click_http *h);

DEFINE_FREEP(struct click_http, click_http_free)

const char *click_http_database(const struct click_http *h);

/*
 * Run a statement and append its answer to @out, which may be NULL. @deadline_ns as a select's; 0:
 * none. A statement that names the database itself is run with click_http_run_outside().
 */
int click_http_run(struct click_http *h, const struct buf *sql, int64_t deadline_ns,
		   struct buf *out, struct err *err);
int click_http_run_outside(struct click_http *h, const struct buf *sql, struct err *err);

/* Rows in RowBinary. */
int click_http_insert(struct click_http *h, const char *table, const struct buf *rows,
		      struct err *err);
