/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/reader.h"

int test_session(void);
int test_session_parts(void);
int test_waiting_threads(void);

int main(int argc, char **argv)
{
	reader_main(argc, argv);
	return test_session() + test_session_parts() + test_waiting_threads();
}
