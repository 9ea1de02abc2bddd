/* SPDX-License-Identifier: Apache-2.0 */
#include "tables/entries.h"

#include <string.h>

#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"

static uint32_t string(struct profile *p, const char *s)
{
	uint32_t id;

	assert_int_equal(profile_add_string(p, s, strlen(s), &id), 0);
	return id;
}

static void a_function_is_its_name_its_binary_and_its_kind(void **state)
{
	struct profile *p = fixture_folded("read;read_[k];read 1\nread_[k] 1\n");
	struct entries *e;
	const uint32_t *ids;
	size_t n;

	assert_int_equal(entries_new(&e, p, ENTRIES_BY_FUNCTION, NULL), 0);
	assert_int_equal(entries_of_stack(e, 0, &ids, &n), 0);
	assert_int_equal(n, 3);
	assert_int_equal(ids[0], ids[2]);
	assert_int_not_equal(ids[0], ids[1]);
	assert_int_equal(entries_count(e), 2);
	assert_string_equal(entries_get(e, ids[1]).name, "read");
	assert_int_equal(entries_get(e, ids[1]).kind, PROFILE_FRAME_KERNEL);
	entries_free(e);
	profile_free(p);
}

static void inlined_frames_are_rows_of_their_own(void **state)
{
	struct profile *p = fixture_folded("main;in_[i] 1\n");
	struct entries *e;
	const uint32_t *ids;
	size_t n;

	assert_int_equal(entries_new(&e, p, ENTRIES_BY_FUNCTION, NULL), 0);
	assert_int_equal(entries_of_stack(e, 0, &ids, &n), 0);
	assert_int_equal(n, 2);
	assert_string_equal(entries_get(e, ids[0]).name, "in");
	assert_string_equal(entries_get(e, ids[1]).name, "main");
	entries_free(e);
	profile_free(p);
}

/* Expects the wait of the only stack of @text to have the row @name. */
static void assert_wait(const char *text, const char *name)
{
	struct profile *p = fixture_folded(text);
	struct entries *e;
	const uint32_t *ids;
	size_t n;

	assert_int_equal(entries_new(&e, p, ENTRIES_BY_WAKER, NULL), 0);
	assert_int_equal(entries_of_stack(e, 0, &ids, &n), 0);
	assert_int_equal(n, 1);
	assert_string_equal(entries_get(e, ids[0]).name, name);
	entries_free(e);
	profile_free(p);
}

static void a_wait_is_its_function_and_the_first_waker(void **state)
{
	assert_wait(
		"main;append;futex_[k];schedule_[k];[woken by b];[woken by a];append;wake_[k] 1\n",
		"append [woken by b]");
	assert_wait("main;append;[woken by a] 1\n", "append [woken by a]");
	assert_wait("main;append;[waker unknown] 1\n", "append [waker unknown]");
	assert_wait("kthread_[k];schedule_[k] 1\n", "schedule [no waker recorded]");
	assert_wait("[woken by interrupt: timer] 1\n", "[no stack] [woken by interrupt: timer]");
}

static struct profile *new_labelled(void)
{
	struct profile *p;
	struct profile_mapping m = { 0 };
	struct profile_function f = { 0 };
	struct profile_line line = { .line = 7, .column = 3 };
	struct profile_location l = { .n_lines = 1, .lines = &line };
	int64_t one = 1;
	struct profile_sample s = { .values = &one };
	uint32_t id;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	m.file = string(p, "/bin/x");
	f.name = string(p, "f");
	f.file = string(p, "f.c");
	assert_int_equal(profile_add_mapping(p, &m, &l.mapping), 0);
	assert_int_equal(profile_add_function(p, &f, &line.function), 0);
	assert_int_equal(profile_add_location(p, &l, &id), 0);
	assert_int_equal(profile_add_stack(p, &id, 1, &s.stack), 0);
	for (int i = 0; i < 2; i++) {
		struct profile_label labels[] = {
			{ .key = string(p, "comm"), .str = string(p, "sh") },
			{ .key = string(p, "pid"), .num = 40 + i },
		};

		s.labels = labels;
		s.n_labels = i ? 1 : 2;
		assert_int_equal(profile_add_sample(p, &s), 0);
	}
	return p;
}

static void assert_frame(const struct profile *p, enum entries_by by, const char *name)
{
	struct entries *e;
	const uint32_t *ids;
	size_t n;

	assert_int_equal(entries_new(&e, p, by, NULL), 0);
	assert_int_equal(entries_of_stack(e, 0, &ids, &n), 0);
	assert_int_equal(n, 1);
	assert_string_equal(entries_get(e, ids[0]).name, name);
	entries_free(e);
}

static void frames_are_distinguished_by_binary_file_and_line(void **state)
{
	struct profile *p = new_labelled();

	assert_frame(p, ENTRIES_BY_FUNCTION, "f");
	assert_frame(p, ENTRIES_BY_BINARY, "/bin/x");
	assert_frame(p, ENTRIES_BY_FILE, "f.c");
	assert_frame(p, ENTRIES_BY_LINE, "f f.c:7");
	assert_frame(p, ENTRIES_BY_COLUMN, "f f.c:7:3");
	profile_free(p);
}

static void assert_labels(const struct profile *p, enum entries_by by, const char *key,
			  const char *first, const char *second)
{
	struct entries *e;

	assert_int_equal(entries_new(&e, p, by, key), 0);
	for (uint32_t i = 0; i < 2; i++) {
		struct profile_sample s = profile_sample(p, i);
		uint32_t id;

		assert_int_equal(entries_of_labels(e, &s, &id), 0);
		assert_string_equal(entries_get(e, id).name, i ? second : first);
	}
	entries_free(e);
}

static void samples_are_distinguished_by_their_labels(void **state)
{
	struct profile *p = new_labelled();

	assert_labels(p, ENTRIES_BY_PROCESS, NULL, "sh (40)", "sh");
	assert_labels(p, ENTRIES_BY_THREAD, NULL, "sh", "sh");
	assert_labels(p, ENTRIES_BY_LABEL, "pid", "40", "[not labelled]");
	assert_labels(p, ENTRIES_BY_LABEL, "no", "[not labelled]", "[not labelled]");
	profile_free(p);
}

TEST_GROUP(test_entries, TEST(a_function_is_its_name_its_binary_and_its_kind),
	   TEST(inlined_frames_are_rows_of_their_own),
	   TEST(a_wait_is_its_function_and_the_first_waker),
	   TEST(frames_are_distinguished_by_binary_file_and_line),
	   TEST(samples_are_distinguished_by_their_labels))
