/* SPDX-License-Identifier: Apache-2.0 */
/* The file is the C library of this process. */
#include "symbol/allocators.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdbool.h>
#include <unistd.h>

#include "bpf/shared/allocs.h"
#include "tests/test.h"

static bool has(const struct allocator_function *f, int n, uint32_t kind)
{
	for (int i = 0; i < n; i++)
		if (f[i].kind == kind)
			return true;
	return false;
}

static void finds_the_functions_of_the_c_library(void **state)
{
	struct allocator_function f[ALLOCATOR_FUNCTIONS_MAX];
	Dl_info info;
	int fd, n;

	/* not malloc(), which a sanitizer replaces */
	assert_int_not_equal(dladdr((void *)gnu_get_libc_version, &info), 0);
	fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	n = allocator_functions_find(fd, f);
	assert_true(n >= 5);
	for (uint32_t kind = ALLOC_SIZE_0; kind < ALLOC_KIND_MAX; kind++)
		assert_true(has(f, n, kind));
	for (int i = 0; i < n; i++) {
		assert_true(f[i].lo <= f[i].place && f[i].place < f[i].hi);
		assert_false(f[i].flags & ALLOCATOR_THROWS);
		for (int k = 0; k < i; k++)
			assert_int_not_equal(f[i].lo, f[k].lo);
	}
	close(fd);
}

/* Each function that only passes calls on would count them once more. */
static void functions_that_pass_calls_on_are_left_out(void **state)
{
	struct allocator_function f[ALLOCATOR_FUNCTIONS_MAX];
	int fd = open(FORWARDING_ALLOCATOR, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(allocator_functions_find(fd, f), 3);
	assert_true(has(f, 3, ALLOC_SIZE_0)); /* mi_malloc and mi_malloc_aligned */
	assert_false(has(f, 3, ALLOC_SIZE_1));
	assert_true(has(f, 3, ALLOC_FREE));
	close(fd);
}

static void refuses_other_files(void **state)
{
	struct allocator_function f[ALLOCATOR_FUNCTIONS_MAX];
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);

	assert_int_equal(allocator_functions_find(fd, f), -ENOEXEC);
	close(fd);
}

TEST_GROUP(test_allocators, TEST(finds_the_functions_of_the_c_library),
	   TEST(functions_that_pass_calls_on_are_left_out), TEST(refuses_other_files))
