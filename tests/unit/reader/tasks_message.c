/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/tasks_message.h"

#include <errno.h>
#include <string.h>

#include "base/strtab.h"
#include "tests/test.h"

static void make(struct task_snapshot *s)
{
	struct task_frame f = { .line = 41, .kind = 4 };
	struct task t = { .id = 7, .state = TASK_WAITING, .wake = TASK_WAKE_TASK };
	uint32_t id;

	assert_int_equal(task_snapshot_init(s), 0);
	strcpy(s->runtime, "Go");
	assert_int_equal(task_snapshot_string(s, "main.worker", 11, &f.function), 0);
	assert_int_equal(task_snapshot_string(s, "chan receive", 12, &t.reason), 0);
	assert_int_equal(task_snapshot_frame(s, &f, &id), 0);
	assert_int_equal(task_snapshot_stack(s, &id, 1, &t.stack), 0);
	assert_int_equal(vec_push(&s->tasks, t), 0);
}

static void a_snapshot_arrives_unchanged(void **state)
{
	struct task_snapshot s, copy;
	struct buf b = { 0 };

	make(&s);
	tasks_message_put(&b, &s);
	assert_int_equal(task_snapshot_init(&copy), 0);
	assert_int_equal(tasks_message_read(b.data, b.len, &copy), 0);
	assert_string_equal(copy.runtime, "Go");
	assert_int_equal(copy.tasks.len, 1);
	assert_memory_equal(copy.tasks.data, s.tasks.data, sizeof(struct task));
	assert_int_equal(seqtab_count(&copy.stacks), 2);
	assert_string_equal(strtab_get(copy.strings, copy.tasks.data[0].reason), "chan receive");
	task_snapshot_fini(&copy);
	task_snapshot_fini(&s);
	buf_fini(&b);
}

static void every_truncation_is_refused(void **state)
{
	struct task_snapshot s, copy;
	struct buf b = { 0 };

	make(&s);
	tasks_message_put(&b, &s);
	for (size_t len = 0; len < b.len; len++) {
		assert_int_equal(task_snapshot_init(&copy), 0);
		assert_int_equal(tasks_message_read(b.data, len, &copy), -EBADMSG);
		task_snapshot_fini(&copy);
	}
	task_snapshot_fini(&s);
	buf_fini(&b);
}

static void ids_that_do_not_exist_are_refused(void **state)
{
	struct task_snapshot s, copy;

	for (int i = 0; i < 4; i++) {
		struct buf b = { 0 };

		make(&s);
		if (i == 0)
			s.tasks.data[0].stack = 2;
		if (i == 1)
			s.tasks.data[0].reason = 3;
		if (i == 2)
			s.tasks.data[0].state = TASK_STATE_MAX;
		if (i == 3)
			s.totals.one_in = 0;
		tasks_message_put(&b, &s);
		assert_int_equal(task_snapshot_init(&copy), 0);
		assert_int_equal(tasks_message_read(b.data, b.len, &copy), -EBADMSG);
		task_snapshot_fini(&copy);
		task_snapshot_fini(&s);
		buf_fini(&b);
	}
}

TEST_GROUP(test_tasks_message, TEST(a_snapshot_arrives_unchanged),
	   TEST(every_truncation_is_refused), TEST(ids_that_do_not_exist_are_refused))
