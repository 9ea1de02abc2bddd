/* SPDX-License-Identifier: Apache-2.0 */
int test_connections(void);
int test_feed(void);
int test_h2_meter(void);
int test_http1_guard(void);
int test_http_client(void);
int test_http_outbox(void);
int test_http_pool(void);
int test_http_server(void);
int test_make_room(void);
int test_tls(void);
int test_turns(void);

int main(void)
{
	return test_connections() + test_feed() + test_h2_meter() + test_http1_guard() +
	       test_http_client() + test_http_outbox() + test_http_pool() + test_http_server() +
	       test_make_room() + test_tls() + test_turns();
}
