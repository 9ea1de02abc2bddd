/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the job in a reader process, through the client. */
#include "reader/jit_job.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "reader/jit_client.h"
#include "reader/reader.h"
#include "roles/pool.h"
#include "tests/test.h"

enum { TIMEOUT_MS = 20000, MEMORY = 24 << 20, N_MANY = 4000 };

struct fixture {
	struct role_pool *pool;
	int fd;
	uint64_t size;
	char names[N_MANY][40]; /* by index of the address */
	uint32_t n;
};

static int setup(void **state)
{
	const struct role_pool_opts opts = { .max_children = 1,
					     .max_abandoned = 1,
					     .memory_bytes = MEMORY };
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	*state = f;
	f->fd = memfd_create("map", MFD_CLOEXEC);
	assert_true(f->fd >= 0);
	return role_pool_new(&f->pool, &reader_role, &opts, NULL);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	role_pool_free(f->pool);
	close(f->fd);
	free(f);
	return 0;
}

static void put_text(struct fixture *f, const char *text)
{
	assert_int_equal(write(f->fd, text, strlen(text)), strlen(text));
	f->size += strlen(text);
}

static int on_found(void *ctx, const struct jit_found *found)
{
	struct fixture *f = ctx;

	snprintf(f->names[found->index], sizeof(f->names[0]), "%.*s", (int)found->name_len,
		 found->name);
	f->n++;
	return 0;
}

/* Looks up @n addresses from @from on. */
static int find(struct fixture *f, enum jit_format format, uint64_t from, const uint64_t *addrs,
		uint32_t n, uint64_t *end)
{
	const struct jit_query q = {
		.fd = f->fd,
		.request = { format, n, from, f->size },
		.addrs = addrs,
		.timeout_ms = TIMEOUT_MS,
		.found = on_found,
		.ctx = f,
	};

	f->n = 0;
	memset(f->names, 0, sizeof(f->names));
	return jit_client_find(f->pool, &q, end);
}

static void finds_functions_of_a_map(void **state)
{
	static const uint64_t addrs[] = { 0x1008, 0x3000, 0x2000 };
	struct fixture *f = *state;
	uint64_t end, next;

	put_text(f, "1000 10 first\n2000 10 second\n4000 1");
	assert_int_equal(find(f, JIT_PERF_MAP, 0, addrs, 3, &end), 0);
	assert_int_equal(f->n, 2);
	assert_string_equal(f->names[0], "first");
	assert_string_equal(f->names[2], "second");
	assert_int_equal(end, f->size - 6);
	put_text(f, "0 x\n2000 8 third\n");
	assert_int_equal(find(f, JIT_PERF_MAP, end, addrs, 3, &next), 0);
	assert_int_equal(f->n, 1);
	assert_string_equal(f->names[2], "third");
	assert_int_equal(next, f->size);
}

static void finds_more_functions_than_a_message_holds(void **state)
{
	struct fixture *f = *state;
	struct buf b = { 0 };
	uint64_t addrs[N_MANY], end;

	for (uint64_t i = 0; i < N_MANY; i++) {
		addrs[i] = (i + 1) * 16;
		buf_printf(&b, "%lx 10 a function with a long name %lu\n", addrs[i], i);
	}
	buf_put_byte(&b, 0);
	assert_int_equal(buf_error(&b), 0);
	put_text(f, (const char *)b.data);
	assert_int_equal(find(f, JIT_PERF_MAP, 0, addrs, N_MANY, &end), 0);
	assert_int_equal(f->n, N_MANY);
	assert_string_equal(f->names[N_MANY - 1], "a function with a long name 3999");
	buf_fini(&b);
}

static void a_file_that_is_no_jitdump_has_no_functions(void **state)
{
	static const uint64_t addr = 0x1000;
	struct fixture *f = *state;
	uint64_t end;

	put_text(f, "1000 10 first\n2000 10 second\n4000 10 and some more text\n");
	assert_int_equal(find(f, JIT_DUMP, 0, &addr, 1, &end), 0);
	assert_int_equal(f->n, 0);
}

/* The memory of a reader does not depend on the file: this one would not fit. */
static void reads_a_map_that_is_larger_than_its_memory(void **state)
{
	static const uint64_t addrs[] = { 0x10, 0x1000 };
	struct fixture *f = *state;
	uint64_t end;

	put_text(f, "10 10 begin\n");
	f->size = 128 << 20;
	assert_int_equal(ftruncate(f->fd, (off_t)f->size), 0);
	assert_int_equal(lseek(f->fd, 0, SEEK_END), f->size);
	put_text(f, "\n1000 10 end\n");
	assert_int_equal(find(f, JIT_PERF_MAP, 0, addrs, 2, &end), 0);
	assert_int_equal(f->n, 2);
	assert_string_equal(f->names[0], "begin");
	assert_string_equal(f->names[1], "end");
}

static void names_are_back_after_the_reader_was_killed(void **state)
{
	static const uint64_t addr = 0x1000;
	struct fixture *f = *state;
	uint64_t end;

	put_text(f, "1000 10 first\n");
	for (int i = 0; i < 3; i++) {
		int r;

		assert_int_equal(find(f, JIT_PERF_MAP, 0, &addr, 1, &end), 0);
		assert_string_equal(f->names[0], "first");
		assert_int_equal(kill(role_pool_pid(f->pool), SIGKILL), 0);
		r = find(f, JIT_PERF_MAP, 0, &addr, 1, &end);
		assert_true(r == 0 || r == -EPIPE);
	}
	assert_int_equal(find(f, JIT_PERF_MAP, 0, &addr, 1, &end), 0);
}

#define FILE_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int test_jit_job(void);
int test_jit_job(void)
{
	const struct CMUnitTest tests[] = {
		FILE_TEST(finds_functions_of_a_map),
		FILE_TEST(finds_more_functions_than_a_message_holds),
		FILE_TEST(a_file_that_is_no_jitdump_has_no_functions),
		FILE_TEST(reads_a_map_that_is_larger_than_its_memory),
		FILE_TEST(names_are_back_after_the_reader_was_killed),
	};

	return TEST_RUN("jit_job", tests, NULL, NULL);
}
