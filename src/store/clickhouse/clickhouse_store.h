/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A store in a ClickHouse database, over its HTTP interface. Several processes may share a
 * database, because none holds state that it cannot fetch again. Acknowledged profiles are as
 * durable as ClickHouse makes its insertions. Rows of tenants share tables and are separated by a
 * column. Differences from the SQLite store are that times after 2149 are refused, and that sizes
 * of a day are divided among tenants by their numbers of windows.
 */
#include "store/store.h"

/*
 * @opt->url is clickhouse://[USER[:PASSWORD]@]HOST:PORT/DATABASE, or clickhouses:// for TLS.
 * Creates the database and its tables if they are missing. Returns 0, -EINVAL for an invalid URL,
 * or an error of clickhouse_http.h. Creating a table that exists is not an error, so servers that
 * share a database may start at once; a table with other columns is only noticed by the first
 * insertion. opt->keep_ns becomes the tables' TTL in whole days plus one, where the release
 * supports it. The caller closes *@out with store_close().
 */
int clickhouse_store_open(struct store **out, const struct store_options *opt, struct err *err);
