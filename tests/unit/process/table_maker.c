/* SPDX-License-Identifier: Apache-2.0 */
#include "process/table_maker.h"

#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "machine.h"
#include "process/file_table.h"
#include "roles/pool.h"
#include "tests/test.h"
#include "unwind/tables.h"

enum { WAIT_MS = 100, ATTEMPTS = 50 };

/* Returns the id of this program. */
static uint32_t own_file(struct machine *m)
{
	char exe[256];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	struct file_ref ref;

	assert_true(n > 0);
	exe[n] = '\0';
	ref = machine_file_ref(exe, 0x1000);
	return file_table_find(m->files, &ref);
}

static void a_table_is_made_while_the_caller_waits(void **state)
{
	struct machine m;
	struct table_maker *maker;
	uint32_t id;

	machine_init(&m);
	maker = file_table_maker(m.files);
	id = own_file(&m);
	assert_true(table_maker_need(maker, 1000, UINT64_MAX)); /* no such file */
	assert_true(table_maker_need(maker, id, UINT64_MAX));
	assert_false(table_maker_is_pending(maker, id));
	assert_int_not_equal(m.unwind_files[id].state, FILE_TABLE_NOT_READY);
	assert_int_not_equal(m.unwind_files[id].state, FILE_TABLE_FAILED);
	assert_int_equal(table_maker_n_failed(maker), 0);
	machine_fini(&m);
}

static void a_caller_without_time_finds_it_later(void **state)
{
	struct machine m;
	struct table_maker *maker;
	uint32_t id;

	machine_init(&m);
	maker = file_table_maker(m.files);
	id = own_file(&m);
	assert_false(table_maker_need(maker, id, 0));
	/* the second call does not wait */
	assert_false(table_maker_need(maker, id, UINT64_MAX));
	while (table_maker_is_pending(maker, id))
		table_maker_poll(maker, WAIT_MS);
	assert_int_not_equal(m.unwind_files[id].state, FILE_TABLE_NOT_READY);
	assert_true(table_maker_need(maker, id, UINT64_MAX));
	machine_fini(&m);
}

/* Requests the table and kills its reader, until it is too late for the reader's answer. */
static void fail_once(struct machine *m, uint32_t id)
{
	struct table_maker *maker = file_table_maker(m->files);

	for (int i = 0; i < ATTEMPTS && !table_maker_n_failed(maker); i++) {
		pid_t pids[4];
		size_t n;

		unwind_tables_drop(m->tables, id, 0);
		assert_false(table_maker_need(maker, id, 0));
		n = role_pool_pids(m->readers, pids, 4);
		for (size_t k = 0; k < n; k++)
			kill(pids[k], SIGKILL);
		while (table_maker_is_pending(maker, id))
			table_maker_poll(maker, WAIT_MS);
	}
	assert_int_equal(table_maker_n_failed(maker), 1);
}

static void a_file_whose_reader_died_is_tried_again(void **state)
{
	struct machine m;
	struct table_maker *maker;
	uint32_t id;

	machine_init(&m);
	maker = file_table_maker(m.files);
	id = own_file(&m);
	fail_once(&m, id);
	assert_int_equal(m.unwind_files[id].state, FILE_TABLE_FAILED);
	assert_true(table_maker_need(maker, id, UINT64_MAX));
	table_maker_retry(maker, 0);
	assert_int_equal(m.unwind_files[id].state, FILE_TABLE_FAILED);
	table_maker_retry(maker, clock_monotonic_ns() + CLOCK_SECOND_NS);
	assert_int_equal(m.unwind_files[id].state, FILE_TABLE_NOT_READY);
	assert_true(table_maker_need(maker, id, UINT64_MAX));
	assert_int_not_equal(m.unwind_files[id].state, FILE_TABLE_FAILED);
	machine_fini(&m);
}

static void a_file_that_is_removed_gets_no_table(void **state)
{
	struct machine m;
	struct table_maker *maker;
	uint32_t id;

	machine_init(&m);
	maker = file_table_maker(m.files);
	id = own_file(&m);
	assert_false(table_maker_need(maker, id, 0));
	for (uint64_t i = 1; i <= 2; i++)
		file_table_sweep(m.files, i);
	assert_null(file_table_get(m.files, id));
	assert_false(table_maker_is_pending(maker, id));
	for (int i = 0; i < 3; i++)
		table_maker_poll(maker, WAIT_MS);
	assert_int_equal(m.unwind_files[id].state, FILE_TABLE_NOT_READY);
	machine_fini(&m);
}

TEST_GROUP(test_table_maker, TEST(a_table_is_made_while_the_caller_waits),
	   TEST(a_caller_without_time_finds_it_later),
	   TEST(a_file_whose_reader_died_is_tried_again),
	   TEST(a_file_that_is_removed_gets_no_table))
