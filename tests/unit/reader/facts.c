/* SPDX-License-Identifier: Apache-2.0 */
/* covers: src/reader/facts_client.c src/reader/facts_job.c src/reader/facts_message.c */
#include "reader/facts_client.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "reader/reader.h"
#include "roles/pool.h"
#include "tests/test.h"

enum { MEMORY = 32 << 20 };

struct fixture {
	struct role_pool *pool;
	int self, copy, text;
};

static int setup(void **state)
{
	const struct role_pool_opts pool = { .max_children = 1,
					     .max_abandoned = 8,
					     .memory_bytes = MEMORY };
	static struct fixture f;
	char piece[4096];
	ssize_t n;

	*state = &f;
	f.self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	f.copy = memfd_create("copy", MFD_CLOEXEC);
	f.text = memfd_create("text", MFD_CLOEXEC);
	assert_true(f.self >= 0 && f.copy >= 0 && f.text >= 0);
	while ((n = read(f.self, piece, sizeof(piece))) > 0)
		assert_int_equal(write(f.copy, piece, (size_t)n), n);
	assert_int_equal(write(f.text, "no program", 10), 10);
	return role_pool_new(&f.pool, &reader_role, &pool, NULL);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	role_pool_free(f->pool);
	close(f->self);
	close(f->copy);
	close(f->text);
	return 0;
}

static void reads_what_identifies_a_file(void **state)
{
	struct file_facts self, copy, text;
	struct fixture *f = *state;

	assert_int_equal(facts_client_read(f->pool, f->self, 0, &self), 0);
	assert_int_equal(facts_client_read(f->pool, f->copy, 0, &copy), 0);
	assert_int_equal(facts_client_read(f->pool, f->text, 0, &text), 0);
	assert_true(self.is_elf);
	assert_true(self.build_id.len > 0);
	assert_memory_equal(&self, &copy, sizeof(self));
	assert_false(text.is_elf);
	assert_int_equal(text.build_id.len, 0);
}

static void compares_files(void **state)
{
	struct fixture *f = *state;

	assert_true(facts_client_same(f->pool, f->self, f->copy, 0));
	assert_false(facts_client_same(f->pool, f->self, f->text, 0));
	assert_int_equal(pwrite(f->copy, "", 1, 60), 1);
	assert_false(facts_client_same(f->pool, f->self, f->copy, 0));
}

static void fails_when_the_reader_is_killed(void **state)
{
	struct file_facts facts;
	struct fixture *f = *state;

	for (int i = 0; i < 5; i++) {
		pid_t pid = role_pool_pid(f->pool);
		int r;

		if (pid > 0)
			kill(pid, SIGKILL);
		r = facts_client_read(f->pool, f->self, 0, &facts);
		assert_true(r == 0 || r == -EPIPE);
	}
	assert_int_equal(facts_client_read(f->pool, f->self, 0, &facts), 0);
}

static void refuses_replies_that_are_not_valid(void **state)
{
	struct file_facts facts = { .is_elf = 1, .build_id.len = 20 };

	assert_ptr_equal(file_facts_check(&facts, sizeof(facts)), &facts);
	assert_null(file_facts_check(&facts, sizeof(facts) - 1));
	facts.build_id.len = ELF_BUILD_ID_MAX + 1;
	assert_null(file_facts_check(&facts, sizeof(facts)));
	facts.build_id.len = 20;
	facts.is_elf = 2;
	assert_null(file_facts_check(&facts, sizeof(facts)));
	facts.is_elf = 0;
	assert_null(file_facts_check(&facts, sizeof(facts)));
}

int test_facts(void);
int test_facts(void)
{
	const struct CMUnitTest tests[] = {
		TEST(reads_what_identifies_a_file),
		TEST(compares_files),
		TEST(fails_when_the_reader_is_killed),
		TEST(refuses_replies_that_are_not_valid),
	};

	return TEST_RUN("facts", tests, setup, teardown);
}
