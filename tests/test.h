/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* cmocka wants these four before its own header, in this order. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

/*
 * A test program has one file a module: each defines its tests and one
 * function that runs them as a group; main() adds up the groups' failures.
 */
#define TEST_GROUP(name, ...)                                                                      \
	int name(void);                                                                            \
	int name(void)                                                                             \
	{                                                                                          \
		const struct CMUnitTest tests[] = { __VA_ARGS__ };                                 \
		return cmocka_run_group_tests_name(#name, tests, NULL, NULL);                      \
	}

#define TEST(fn) cmocka_unit_test(fn)
