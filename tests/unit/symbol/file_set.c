/* SPDX-License-Identifier: Apache-2.0 */
/* The shell, which has a build id, copies of it and this program are added to a set. */
#include "symbol/file_set.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/symbolizer_file.h"
#include "tempdir.h"
#include "tests/test.h"

static int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* Copies the shell to a file without a name, and appends @n_more bytes. */
static int open_copy(const char *dir, off_t n_more)
{
	int from = open_file("/bin/sh"), to;
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s/copy", dir);
	to = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(to >= 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(fstat(from, &st), 0);
	for (off_t at = 0; at < st.st_size;)
		assert_true(sendfile(to, from, &at, (size_t)(st.st_size - at)) > 0);
	assert_int_equal(ftruncate(to, st.st_size + n_more), 0);
	close(from);
	return to;
}

/* Adds a file by a descriptor that is closed afterwards. */
static uint32_t add(struct file_set *set, int fd)
{
	const struct symbolizer_file in = { .fd = fd, .root_fd = -1, .debug_fd = -1, .path = "x" };
	uint32_t id;

	assert_int_equal(file_set_add(set, &in, NULL, &id), 0);
	close(fd);
	return id;
}

static void equal_files_share_an_id_until_the_last_release(void **state)
{
	struct file_set set = { 0 };
	uint32_t shell = add(&set, open_file("/bin/sh"));

	assert_int_equal(add(&set, open_file("/bin/sh")), shell);
	assert_int_equal(add(&set, open_copy(*state, 0)), shell);
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

static void an_equal_build_id_is_not_enough(void **state)
{
	struct file_set set = { 0 };
	uint32_t shell = add(&set, open_file("/bin/sh"));

	assert_int_not_equal(add(&set, open_copy(*state, 1)), shell);
	assert_int_equal(set.n_live, 2);
	file_set_fini(&set);
}

static void an_id_is_reused_but_the_key_of_the_worker_is_not(void **state)
{
	struct file_set set = { 0 };
	uint32_t shell = add(&set, open_file("/bin/sh"));
	uint32_t self = add(&set, open_file("/proc/self/exe"));
	uint64_t key = file_set_get(&set, shell)->worker.key;

	assert_int_not_equal(shell, self);
	assert_int_not_equal(file_set_get(&set, self)->worker.key, key);
	file_set_release(&set, shell);
	assert_int_equal(set.n_live, 1);
	assert_int_equal(add(&set, open_file("/bin/sh")), shell);
	assert_int_not_equal(file_set_get(&set, shell)->worker.key, key);
	assert_null(file_set_get(&set, 2));
	file_set_fini(&set);
}

static void a_descriptor_that_is_none_is_an_error(void **state)
{
	const struct symbolizer_file in = { .fd = -1, .root_fd = -1, .debug_fd = -1 };
	struct file_set set = { 0 };
	uint32_t id;

	assert_int_equal(file_set_add(&set, &in, NULL, &id), -EBADF);
	assert_int_equal(set.n_live, 0);
	file_set_fini(&set);
}

TEST_GROUP(test_file_set,
	   cmocka_unit_test_setup_teardown(equal_files_share_an_id_until_the_last_release,
					   tempdir_make, tempdir_remove),
	   cmocka_unit_test_setup_teardown(an_equal_build_id_is_not_enough, tempdir_make,
					   tempdir_remove),
	   TEST(an_id_is_reused_but_the_key_of_the_worker_is_not),
	   TEST(a_descriptor_that_is_none_is_an_error))
