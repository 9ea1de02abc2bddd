/* SPDX-License-Identifier: Apache-2.0 */
#include "store/kinds/store_open.h"

#include "store/clickhouse/clickhouse_store.h"
#include "store/sqlite/replica_store.h"
#include "store/sqlite/sqlite_store.h"
#include "store/sqlite/sqlite_usage.h"
#include "store/store.h"

int store_open(struct store **out, const struct store_options *opt, struct err *err)
{
	if (opt->url)
		return clickhouse_store_open(out, opt, err);
	return opt->read_only ? replica_store_open(out, opt, err)
			      : sqlite_store_open(out, opt, err);
}

int store_directory_usage(const char *dir, store_usage_fn fn, void *ctx, struct err *err)
{
	return sqlite_usage_days(dir, NULL, DB_READ, fn, ctx, err);
}
