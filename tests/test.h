/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* cmocka.h requires these four headers before it, in this order. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
/* clang-format on */

/*
 * Does the environment variable CAMEO_TEST select the tests of this source file? It is FILE or
 * FILE/TEST, FILE without folder and suffix; "./test unit FOLDER/FILE/TEST" sets it. Where it
 * is unset or empty, all tests run.
 */
static inline int test_file_is_selected(const char *path)
{
	const char *only = getenv("CAMEO_TEST"), *base = strrchr(path, '/'), *slash;
	size_t len;

	if (!only || !*only)
		return 1;
	base = base ? base + 1 : path;
	slash = strchr(only, '/');
	len = slash ? (size_t)(slash - only) : strlen(only);
	if (slash)
		cmocka_set_test_filter(slash + 1);
	return !strncmp(base, only, len) && !strcmp(base + len, ".c");
}

/* Runs the tests of the array @tests if they are selected; the value is the number of failures. */
#define TEST_RUN(name, tests, setup, teardown)                                                     \
	(test_file_is_selected(__FILE__)                                                           \
		 ? cmocka_run_group_tests_name(name, tests, setup, teardown)                       \
		 : 0)

/*
 * A test program has one file per module. Each file defines its tests and one function that
 * runs them as a group and returns the number of failures; main() returns the sum.
 */
#define TEST_GROUP(name, ...)                                                                      \
	int name(void);                                                                            \
	int name(void)                                                                             \
	{                                                                                          \
		const struct CMUnitTest tests[] = { __VA_ARGS__ };                                 \
		return TEST_RUN(#name, tests, NULL, NULL);                                         \
	}

#define TEST(fn) cmocka_unit_test(fn)
