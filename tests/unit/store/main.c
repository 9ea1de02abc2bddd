/* SPDX-License-Identifier: Apache-2.0 */
int test_arrivals(void);
int test_block(void);
int test_clickhouse_http(void);
int test_clickhouse_query(void);
int test_clickhouse_select(void);
int test_clickhouse_stacks(void);
int test_clickhouse_store(void);
int test_clickhouse_writer(void);
int test_conformance(void);
int test_day(void);
int test_day_cache(void);
int test_day_check(void);
int test_day_files(void);
int test_day_pack(void);
int test_day_rewrite(void);
int test_day_traced(void);
int test_db(void);
int test_durable(void);
int test_intern(void);
int test_log_sums(void);
int test_manifest(void);
int test_manifests(void);
int test_matcher(void);
int test_pack(void);
int test_page_sums(void);
int test_reader_pool(void);
int test_replica_days(void);
int test_rollup(void);
int test_rollup_due(void);
int test_sample_times(void);
int test_series(void);
int test_sqlite_copy(void);
int test_sqlite_files(void);
int test_sqlite_owner(void);
int test_sqlite_query(void);
int test_sqlite_store(void);
int test_sqlite_usage(void);
int test_timed_samples(void);
int test_window(void);
int test_writer(void);

int main(void)
{
	return test_arrivals() + test_block() + test_clickhouse_http() + test_clickhouse_query() +
	       test_clickhouse_select() + test_clickhouse_stacks() + test_clickhouse_store() +
	       test_clickhouse_writer() + test_conformance() + test_day() + test_day_cache() +
	       test_day_check() + test_day_files() + test_day_pack() + test_day_rewrite() +
	       test_day_traced() + test_db() + test_durable() + test_intern() + test_log_sums() +
	       test_manifest() + test_manifests() + test_matcher() + test_pack() +
	       test_page_sums() + test_reader_pool() + test_replica_days() + test_rollup() +
	       test_rollup_due() + test_sample_times() + test_series() + test_sqlite_copy() +
	       test_sqlite_files() + test_sqlite_owner() + test_sqlite_query() +
	       test_sqlite_store() + test_sqlite_usage() + test_timed_samples() + test_window() +
	       test_writer();
}
