/* SPDX-License-Identifier: Apache-2.0 */
int test_feed(void);
int test_h2_tls(void);
int test_http1_guard(void);
int test_http_client(void);
int test_http_server(void);

int main(void)
{
	return test_feed() + test_h2_tls() + test_http1_guard() + test_http_client() +
	       test_http_server();
}
