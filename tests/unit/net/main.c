/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/test.h"

int test_feed(void);
int test_h2_tls(void);
int test_http_client(void);

int main(void)
{
	return test_feed() + test_h2_tls() + test_http_client();
}
