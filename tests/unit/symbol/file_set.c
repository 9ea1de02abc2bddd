/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/file_set.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/symbolizer_file.h"
#include "tests/test.h"

static int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* Adds a file by a descriptor that is closed afterwards. */
static uint32_t add(struct file_set *set, int fd)
{
	const struct symbolizer_file in = { .fd = fd, .root_fd = -1, .debug_fd = -1, .path = "x" };
	uint32_t id;

	assert_int_equal(file_set_add(set, &in, &id), 0);
	close(fd);
	return id;
}

static void an_inode_has_one_id_until_the_last_release(void **state)
{
	struct file_set set = { 0 };
	uint32_t shell = add(&set, open_file("/bin/sh"));

	for (int i = 0; i < 2; i++)
		assert_int_equal(add(&set, open_file("/bin/sh")), shell);
	assert_int_equal(set.n_live, 1);
	assert_string_equal(file_set_get(&set, shell)->path, "x");
	assert_int_equal(file_set_get(&set, shell)->n_users, 3);
	for (int i = 0; i < 3; i++) {
		assert_non_null(file_set_get(&set, shell));
		file_set_release(&set, shell);
	}
	assert_null(file_set_get(&set, shell));
	assert_int_equal(set.n_live, 0);
	file_set_fini(&set);
}

static void a_file_that_changes_has_another_id(void **state)
{
	struct file_set set = { 0 };
	int fd = memfd_create("changes", MFD_CLOEXEC);
	uint32_t before = add(&set, dup(fd));

	assert_int_equal(add(&set, dup(fd)), before);
	assert_int_equal(ftruncate(fd, 1), 0);
	assert_int_not_equal(add(&set, dup(fd)), before);
	assert_int_equal(set.n_live, 2);
	close(fd);
	file_set_fini(&set);
}

static void an_id_is_reused_but_the_key_is_not(void **state)
{
	struct file_set set = { 0 };
	uint32_t shell = add(&set, open_file("/bin/sh"));
	uint32_t self = add(&set, open_file("/proc/self/exe"));
	uint64_t key = file_set_get(&set, shell)->key;

	assert_int_not_equal(shell, self);
	assert_int_not_equal(file_set_get(&set, self)->key, key);
	file_set_release(&set, shell);
	assert_int_equal(set.n_live, 1);
	assert_int_equal(add(&set, open_file("/bin/sh")), shell);
	assert_int_not_equal(file_set_get(&set, shell)->key, key);
	assert_null(file_set_get(&set, 2));
	file_set_fini(&set);
}

static void a_descriptor_that_is_none_is_an_error(void **state)
{
	const struct symbolizer_file in = { .fd = -1, .root_fd = -1, .debug_fd = -1 };
	struct file_set set = { 0 };
	uint32_t id;

	assert_int_equal(file_set_add(&set, &in, &id), -EBADF);
	assert_int_equal(set.n_live, 0);
	file_set_fini(&set);
}

TEST_GROUP(test_file_set, TEST(an_inode_has_one_id_until_the_last_release),
	   TEST(a_file_that_changes_has_another_id), TEST(an_id_is_reused_but_the_key_is_not),
	   TEST(a_descriptor_that_is_none_is_an_error))
