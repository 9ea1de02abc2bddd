/* SPDX-License-Identifier: Apache-2.0 */
/* covers: src/reader/table_client.c src/reader/table_job.c */
/* Tests the client and the job in reader processes. */
#include "reader/table_client.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "reader/reader.h"
#include "roles/pool.h"
#include "tests/test.h"
#include "unwind/flat_table.h"

enum { SELF = 1, TEXT, N_FILES = 40, TIMEOUT_MS = 20000, MEMORY = 256 << 20 };

/* Files: this program, a text, and this program again. */
struct fixture {
	struct role_pool *pool;
	struct table_client *client;
	int self, text;
	int result[N_FILES];
	uint32_t n_rows[N_FILES];
	unsigned int n_done, n_needs;
};

static int on_open(void *ctx, uint32_t file)
{
	struct fixture *f = ctx;

	return file == TEXT ? f->text : f->self;
}

static int on_need(void *ctx, uint32_t file, const struct table_need *need)
{
	struct fixture *f = ctx;

	f->n_needs++;
	return need->attempt < 3 ? -ENOENT : -ERANGE;
}

static void on_done(void *ctx, uint32_t file, int result, const struct flat_table *table)
{
	struct fixture *f = ctx;

	assert_int_equal(!!table, result == 0);
	f->result[file] = result;
	f->n_rows[file] = table ? table->head.n_rows : 0;
	f->n_done++;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const struct role_pool_opts pool = { .max_children = 2,
					     .max_abandoned = 8,
					     .memory_bytes = MEMORY };
	struct table_client_opts opts = {
		.n_readers = 2,
		.table_bytes = MEMORY,
		.timeout_ms = TIMEOUT_MS,
		.open = on_open,
		.open_debug = on_need,
		.done = on_done,
		.ctx = f,
	};

	assert_non_null(f);
	*state = f;
	f->self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	f->text = memfd_create("text", MFD_CLOEXEC);
	assert_true(f->self >= 0 && f->text >= 0);
	assert_int_equal(write(f->text, "no program", 10), 10);
	assert_int_equal(role_pool_new(&f->pool, &reader_role, &pool, NULL), 0);
	opts.pool = f->pool;
	return table_client_new(&f->client, &opts);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	table_client_free(f->client);
	role_pool_free(f->pool);
	close(f->self);
	close(f->text);
	free(f);
	return 0;
}

static void wait_for(struct fixture *f, unsigned int n_done)
{
	uint64_t until_ns = clock_monotonic_ns() + 2ULL * TIMEOUT_MS * CLOCK_MS_NS;

	while (f->n_done < n_done) {
		assert_true(clock_monotonic_ns() < until_ns);
		table_client_poll(f->client, 100);
	}
}

static int request(struct fixture *f, uint32_t file, bool sweep_all)
{
	const struct fair_request r = { .file = file, .sweep_all = sweep_all };

	return table_client_request(f->client, &r);
}

static void makes_the_table_of_a_program(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(request(f, SELF, false), 0);
	assert_true(table_client_is_pending(f->client, SELF));
	assert_int_equal(request(f, SELF, false), 0);
	wait_for(f, 1);
	assert_false(table_client_is_pending(f->client, SELF));
	assert_int_equal(f->result[SELF], 0);
	assert_true(f->n_rows[SELF] > 1000);
	assert_int_equal(table_client_n_pending(f->client), 0);
}

static void a_text_has_no_table(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(request(f, TEXT, false), 0);
	wait_for(f, 1);
	assert_true(f->result[TEXT] < 0);
}

static void requests_wait_for_a_free_reader(void **state)
{
	struct fixture *f = *state;

	for (uint32_t i = 1; i < N_FILES; i++)
		assert_int_equal(request(f, i, i % 2), 0);
	table_client_cancel(f->client, N_FILES - 1);
	wait_for(f, N_FILES - 2);
	for (uint32_t i = 1; i < N_FILES - 1; i++)
		assert_int_equal(f->result[i] == 0, i != TEXT);
	assert_int_equal(table_client_n_pending(f->client), 0);
}

/* The children are found in /proc, since the pool is the client's own. */
static void kill_readers(void)
{
	char path[64];
	FILE *list;
	int pid;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	list = fopen(path, "re");
	if (!list)
		return;
	while (fscanf(list, "%d", &pid) == 1)
		kill(pid, SIGKILL);
	fclose(list);
}

static void survives_readers_that_are_killed(void **state)
{
	struct fixture *f = *state;
	unsigned int n_good = 0;

	for (unsigned int i = 1; i <= 10; i++) {
		assert_int_equal(request(f, SELF, false), 0);
		kill_readers();
		wait_for(f, i);
		assert_true(f->result[SELF] == 0 || f->result[SELF] == -EPIPE);
	}
	for (unsigned int i = 11; i <= 12; i++) {
		assert_int_equal(request(f, SELF, false), 0);
		wait_for(f, i);
		n_good += f->result[SELF] == 0;
	}
	assert_int_equal(n_good, 2);
}

#define CLIENT_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int test_table_client(void);
int test_table_client(void)
{
	const struct CMUnitTest tests[] = {
		CLIENT_TEST(makes_the_table_of_a_program),
		CLIENT_TEST(a_text_has_no_table),
		CLIENT_TEST(requests_wait_for_a_free_reader),
		CLIENT_TEST(survives_readers_that_are_killed),
	};

	return TEST_RUN("table_client", tests, NULL, NULL);
}
