/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/worker.h"

int test_access(void);
int test_agents(void);
int test_api(void);
int test_arguments(void);
int test_attempts(void);
int test_connect(void);
int test_failure(void);
int test_grpc(void);
int test_ingest(void);
int test_ingest_http(void);
int test_ingest_kinds(void);
int test_ingest_symbolizer(void);
int test_ingest_text(void);
int test_jwt(void);
int test_quota(void);
int test_log_writer(void);
int test_login(void);
int test_message(void);
int test_multipart(void);
int test_otlp_ingest(void);
int test_page_api(void);
int test_page_api_status(void);
int test_page_api_tables(void);
int test_page_api_trees(void);
int test_pprof_json(void);
int test_push(void);
int test_querier(void);
int test_querier_labels(void);
int test_querier_points(void);
int test_querier_stacks(void);
int test_query_request(void);
int test_query_results(void);
int test_readiness(void);
int test_render(void);
int test_request_log(void);
int test_response(void);
int test_retention(void);
int test_secret(void);
int test_sessions(void);
int test_server(void);
int test_watcher(void);
int test_symbolized_files(void);
int test_tenant_limits(void);

int main(int argc, char **argv)
{
	symbol_worker_main(argc, argv);
	return test_access() + test_agents() + test_api() + test_arguments() + test_attempts() +
	       test_connect() + test_failure() + test_grpc() + test_ingest() + test_ingest_http() +
	       test_ingest_kinds() + test_ingest_symbolizer() + test_ingest_text() + test_jwt() +
	       test_quota() + test_log_writer() + test_login() + test_message() + test_multipart() +
	       test_otlp_ingest() + test_page_api() + test_page_api_status() +
	       test_page_api_tables() + test_page_api_trees() + test_pprof_json() + test_push() +
	       test_querier() + test_querier_labels() + test_querier_points() +
	       test_querier_stacks() + test_query_request() + test_query_results() +
	       test_readiness() + test_render() + test_request_log() + test_response() +
	       test_retention() + test_secret() + test_sessions() + test_server() +
	       test_symbolized_files() + test_tenant_limits() + test_watcher();
}
