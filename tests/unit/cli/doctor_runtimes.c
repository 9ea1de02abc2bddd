/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor_runtimes.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "tests/test.h"
#include "tests/unit/elf/fixture.h"

enum { INFO_AT = 0x1000 };

/*
 * Creates a file like a program of Go 1.99, whose table of functions has an unknown form. @path is
 * a template of mkstemp(). The file has a path because only root can open others that are mapped.
 */
static int create_go_program(char *path)
{
	uint8_t info[48] = "\xff Go buildinf:";
	struct fixture f;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	info[15] = 2;
	info[32] = 6;
	memcpy(info + 33, "go1.99", 6);
	fixture_init(&f);
	fixture_load(&f, fixture_add(&f, ".go.buildinfo", SHT_PROGBITS, info, sizeof(info)),
		     INFO_AT, PF_R);
	fixture_open(&f);
	assert_int_equal(write(fd, f.bytes.data, f.bytes.len), f.bytes.len);
	fixture_fini(&f);
	return fd;
}

static void this_test_has_no_runtime(void **state)
{
	struct doctor_runtimes found;

	assert_int_equal(doctor_runtimes_find(&found, (uint32_t)getpid(), NULL), 0);
	assert_int_equal(found.n, 0);
}

static void a_mapped_file_is_examined_once(void **state)
{
	char path[] = "/tmp/cameo-go.XXXXXX";
	struct doctor_runtimes found;
	int fd = create_go_program(path);
	void *at[2];

	for (int i = 0; i < 2; i++) {
		at[i] = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		assert_ptr_not_equal(at[i], MAP_FAILED);
	}
	assert_int_equal(doctor_runtimes_find(&found, (uint32_t)getpid(), NULL), 0);
	assert_int_equal(found.n, 1);
	assert_string_equal(found.all[0].name, "Go 1.99");
	assert_int_equal(found.all[0].check.status, DOCTOR_DEGRADED);
	assert_non_null(strstr(found.all[0].check.text, "table of functions"));
	for (int i = 0; i < 2; i++)
		munmap(at[i], 4096);
	close(fd);
	unlink(path);
}

static void a_process_that_does_not_exist_is_an_error(void **state)
{
	struct doctor_runtimes found;
	struct err err = { 0 };

	assert_true(doctor_runtimes_find(&found, INT32_MAX, &err) < 0);
	assert_non_null(strstr(err.msg, "2147483647"));
}

TEST_GROUP(test_doctor_runtimes, TEST(this_test_has_no_runtime),
	   TEST(a_mapped_file_is_examined_once), TEST(a_process_that_does_not_exist_is_an_error))
