/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * TEST_GROUP_OF_X86_64() is TEST_GROUP() for tests whose input is code or CFI of x86-64: a build
 * for another processor skips them.
 */
#include "tests/test.h"

#ifdef __x86_64__
#define TEST_GROUP_OF_X86_64 TEST_GROUP
#else
#define TEST_GROUP_OF_X86_64(name, ...)                                                            \
	int name(void);                                                                            \
	int name(void)                                                                             \
	{                                                                                          \
		const struct CMUnitTest tests[] = { __VA_ARGS__ };                                 \
		print_message("[  SKIPPED ] " #name ": %zu tests of x86-64\n",                     \
			      sizeof(tests) / sizeof(tests[0]));                                   \
		return 0;                                                                          \
	}
#endif
