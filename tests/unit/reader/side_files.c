/* SPDX-License-Identifier: Apache-2.0 */
/* covers: src/reader/side_files.c */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "reader/lang_message.h"
#include "reader/side_files.h"
#include "tests/test.h"

int test_side_files(void);

static struct side_files files;
static const struct lang_process_id id = { .pid = 7, .start_ns = 1 };

static int find(uint32_t pid, uint64_t addr)
{
	const struct lang_process_id other = { .pid = pid, .start_ns = 1 };

	return side_files_find(&files, &other, &(struct lang_side_file){ .addr = addr });
}

static void add(uint64_t addr, int fd)
{
	side_files_add(&files, &id, &(struct lang_side_file){ .addr = addr }, fd);
}

static void finds_files_by_process_and_address(void **state)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(find(7, 1), -EAGAIN);
	add(1, fd);
	add(2, -1);
	assert_int_equal(find(7, 1), fd);
	assert_int_equal(find(7, 2), -ENOENT);
	assert_int_equal(find(8, 1), -EAGAIN);
}

static void evicts_what_was_used_least_recently(void **state)
{
	int fd;

	(void)state;
	for (uint64_t i = 0; i < SIDE_FILES_OPEN_MAX; i++) {
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		add(100 + i, fd);
		(void)find(7, 100);
	}
	assert_int_equal(files.n_open, SIDE_FILES_OPEN_MAX);
	assert_int_equal(find(7, 1), -EAGAIN);
	assert_true(find(7, 100) >= 0);
	for (uint64_t i = 0; i < 2 * SIDE_FILES_MAX; i++)
		add(1000 + i, -1);
	assert_int_equal(files.n, SIDE_FILES_MAX);
	assert_int_equal(files.n_open, 0);
	assert_int_equal(find(7, 100), -EAGAIN);
}

static bool is_valid(const char *name)
{
	struct lang_side_file f = { .addr = 1 };

	memcpy(f.name, name, strlen(name) < sizeof(f.name) ? strlen(name) : sizeof(f.name));
	return lang_side_file_is_valid(&f);
}

static void accepts_only_names_of_pdbs(void **state)
{
	char name[129];

	(void)state;
	assert_true(is_valid("shop.pdb"));
	assert_false(is_valid(""));
	assert_false(is_valid(".pdb"));
	assert_false(is_valid("shop.dll"));
	assert_false(is_valid("../shop.pdb"));
	assert_false(is_valid("sh\nop.pdb"));
	memset(name, 'a', sizeof(name) - 1);
	name[128] = '\0';
	assert_false(is_valid(name));
}

int test_side_files(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_files_by_process_and_address),
		cmocka_unit_test(evicts_what_was_used_least_recently),
		cmocka_unit_test(accepts_only_names_of_pdbs),
	};

	return TEST_RUN("test_side_files", tests, NULL, NULL);
}
