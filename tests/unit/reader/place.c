/* SPDX-License-Identifier: Apache-2.0 */
/* covers: src/reader/place_client.c src/reader/place_job.c src/symbol/probe_place.c */
#include "reader/place_client.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/probe_place.h"
#include "tests/test.h"

static int own_program(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void a_reader_finds_what_is_found_here(void **state)
{
	static const char *const names[] = { "main", "test_place", "place_client_find" };
	int fd = own_program();

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		uint64_t here = 0, there = 0;

		assert_int_equal(probe_place_find(fd, names[i], 4, &here), 0);
		assert_int_equal(place_client_find(NULL, fd, names[i], 4, &there), 0);
		assert_true(here > 4);
		assert_int_equal(here, there);
	}
	close(fd);
}

static void reasons_are_returned(void **state)
{
	int fd = own_program(), text = memfd_create("text", MFD_CLOEXEC);
	char name[10000];
	uint64_t place;

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(write(text, "no program", 10), 10);
	assert_int_equal(place_client_find(NULL, fd, "no_such_function", 0, &place), -ENOENT);
	assert_int_equal(place_client_find(NULL, fd, name, 0, &place), -ENOENT);
	assert_int_equal(place_client_find(NULL, fd, "0x12g", 0, &place), -EINVAL);
	assert_int_equal(place_client_find(NULL, fd, "main", 1ULL << 62, &place), -ERANGE);
	assert_int_equal(place_client_find(NULL, text, "main", 0, &place), -ENOEXEC);
	close(fd);
	close(text);
}

TEST_GROUP(test_place, TEST(a_reader_finds_what_is_found_here), TEST(reasons_are_returned))
