/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A model of ClickHouse for the statements that the store sends: rows that are inserted are decoded
 * into SQLite tables, and each form of statement is a query of SQLite that was written from its
 * meaning in ClickHouse. Other statements get an error. Any number of databases and threads.
 */
#include <stdbool.h>
#include <stddef.h>

struct fake_clickhouse;

struct fake_clickhouse *fake_clickhouse_new(void);
void fake_clickhouse_free(struct fake_clickhouse *f);

/* "clickhouse://127.0.0.1:PORT" with @rest after it, which the caller frees. */
char *fake_clickhouse_url(const struct fake_clickhouse *f, const char *rest);

/*
 * From now on requests that contain @part, in the statement or the name of a table, get this
 * status and text instead, @times times (0: for good). NULL ends that.
 */
void fake_clickhouse_fail(struct fake_clickhouse *f, const char *part, int status, const char *text,
			  int times);

/* The responses to such requests are cut to @len bytes, with status 200. */
void fake_clickhouse_truncate(struct fake_clickhouse *f, const char *part, size_t len);

/* The number of requests so far that contain @part, and the last statement among them. */
size_t fake_clickhouse_count(struct fake_clickhouse *f, const char *part);
const char *fake_clickhouse_last(struct fake_clickhouse *f, const char *part);

/* The number of rows in a table of all databases, "frames", "stacks", "series" or "windows". */
size_t fake_clickhouse_rows(struct fake_clickhouse *f, const char *table);

/* The first number in the result of a query of the model's own tables. */
long long fake_clickhouse_value(struct fake_clickhouse *f, const char *sql);
