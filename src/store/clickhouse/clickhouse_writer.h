/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Inserts profiles into the tables. Concurrent requests are combined into one insertion, because
 * ClickHouse creates files for each. Any thread.
 *
 * Memory: the encoded rows of all waiting requests; the number of requests is what the server's
 * limits allow. A caller blocks for up to an insertion in progress plus its own, including pauses
 * while ClickHouse merges parts.
 */
#include <stddef.h>

#include "base/cleanup.h"

struct clickhouse_http;
struct clickhouse_writer;
struct err;
struct store_profile;

/* @http must outlive the writer. */
int clickhouse_writer_new(struct clickhouse_writer **out, struct clickhouse_http *http);
void clickhouse_writer_free(struct clickhouse_writer *w);

DEFINE_FREEP(struct clickhouse_writer, clickhouse_writer_free)

/*
 * Does what store_append() does, which has checked tenant and times. Profiles are stored all or
 * none by day only as far as ClickHouse does so: the rows of one table are one insertion, and
 * windows come last, so a failure before leaves rows that nothing refers to. A request that is
 * repeated after an error stores profiles with an id once; others may count twice.
 */
int clickhouse_writer_append(struct clickhouse_writer *w, const char *tenant,
			     const struct store_profile *profiles, size_t n, struct err *err);

/* Must be called after days were dropped: rows that were stored with them must be sent again. */
void clickhouse_writer_forget_known(struct clickhouse_writer *w);
