/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/test.h"

int test_ingest_text(void);
int test_message(void);
int test_multipart(void);

int main(void)
{
	return test_ingest_text() + test_message() + test_multipart();
}
