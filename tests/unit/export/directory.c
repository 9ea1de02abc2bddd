/* SPDX-License-Identifier: Apache-2.0 */
/* Files that the sink of a directory writes are listed, and read with the reader of pprof. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../codec/fixture.h"
#include "../symbol/tempdir.h"
#include "base/clock.h"
#include "base/err.h"
#include "codec/common/limits.h"
#include "codec/pprof/pprof.h"
#include "export/export.h"
#include "export/sink.h"
#include "export/window.h"
#include "profile/profile.h"
#include "tests/test.h"

enum { NAMES_MAX = 32 };

struct listing {
	size_t n;
	char names[NAMES_MAX][256]; /* sorted */
};

static int cmp_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

static struct listing list(const char *dir)
{
	struct listing l = { 0 };
	DIR *d = opendir(dir);
	struct dirent *e;

	assert_non_null(d);
	while ((e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		assert_true(l.n < NAMES_MAX);
		memcpy(l.names[l.n++], e->d_name, sizeof(e->d_name));
	}
	closedir(d);
	qsort(l.names, l.n, sizeof(l.names[0]), cmp_names);
	return l;
}

static void *open_sink(const char *dir, uint64_t max_bytes, int64_t max_age_ns)
{
	const struct export_sink_options opt = { .url = dir,
						 .dir_bytes = max_bytes,
						 .dir_age_ns = max_age_ns };
	struct err err = { 0 };
	void *sink;

	if (sink_directory.open(&sink, &opt, NULL, &err) < 0)
		fail_msg("%s", err.msg);
	return sink;
}

static struct sink_outcome send_bytes(void *sink, int64_t time_ns, size_t n)
{
	static uint8_t bytes[4096];
	const struct export_item item = { .time_ns = time_ns,
					  .n_profiles = 1,
					  .body = { .data = bytes, .len = n } };
	struct sink_outcome out = { .verdict = SINK_LATER };

	assert_true(n <= sizeof(bytes));
	sink_directory.send(sink, &item, &out);
	return out;
}

/* 2023-11-14 22:13:20 UTC, the @i-th 15 s after it. */
static int64_t window_start(int i)
{
	return 1700000000000000000 + i * 15000000000;
}

static void files_are_named_after_the_start_of_their_window(void **state)
{
	void *sink = open_sink(*state, 0, 0);
	struct listing l;

	for (int i = 0; i < 2; i++)
		assert_int_equal(send_bytes(sink, window_start(0) + 7000001, 1).verdict, SINK_DONE);
	assert_int_equal(send_bytes(sink, window_start(1), 1).verdict, SINK_DONE);
	l = list(*state);
	assert_int_equal(l.n, 3);
	/* The clock was set back: the second file of one time gets another name. */
	assert_string_equal(l.names[0], "cameo-20231114T221320.007Z-1.pb.gz");
	assert_string_equal(l.names[1], "cameo-20231114T221320.007Z.pb.gz");
	assert_string_equal(l.names[2], "cameo-20231114T221335.000Z.pb.gz");
	sink_directory.free(sink);
}

static void every_time_has_a_name(void **state)
{
	void *sink = open_sink(*state, 0, 0);

	assert_int_equal(send_bytes(sink, INT64_MIN, 1).verdict, SINK_DONE);
	assert_int_equal(send_bytes(sink, INT64_MAX, 1).verdict, SINK_DONE);
	assert_int_equal(list(*state).n, 2);
	sink_directory.free(sink);
}

/* The parts of an encoded window, each a pprof file. */
struct items {
	size_t n;
	uint32_t n_profiles[8];
	struct profile *profiles[8];
};

static int on_item(void *ctx, struct buf *body, uint32_t n_profiles)
{
	const struct codec_limits limits = codec_limits_default();
	struct items *items = ctx;

	assert_true(items->n < 8);
	items->n_profiles[items->n] = n_profiles;
	assert_int_equal(
		pprof_read(&items->profiles[items->n++], body->data, body->len, &limits, NULL), 0);
	return 0;
}

static void items_fini(struct items *items)
{
	for (size_t i = 0; i < items->n; i++)
		profile_free(items->profiles[i]);
}

static void add(struct export_window *w, const char *name, const char *pod)
{
	const struct export_label labels[] = {
		{ "service_name", "shop" }, { "pod", pod }, { "empty", "" }, { "__name__", name }
	};

	assert_int_equal(export_window_add(w, fixture_small(), labels, name ? 4 : 3), 0);
}

static size_t n_with_label(const struct profile *p, const char *key, const char *value)
{
	size_t n = 0;

	for (uint32_t i = 0; i < profile_n_samples(p); i++) {
		struct profile_sample s = profile_sample(p, i);

		for (uint32_t k = 0; k < s.n_labels; k++)
			n += !strcmp(profile_string(p, s.labels[k].key), key) &&
			     (!value || !strcmp(profile_string(p, s.labels[k].str), value));
	}
	return n;
}

static void processes_of_a_type_share_a_file_and_labels_keep_them_apart(void **state)
{
	_cleanup_(export_window_freep) struct export_window *w = NULL;
	void *sink = open_sink(*state, 0, 0);
	struct items items = { 0 };
	const struct profile *p;

	assert_int_equal(export_window_new(&w, window_start(0), window_start(1)), 0);
	add(w, NULL, "a");
	add(w, "memory", "a");
	add(w, NULL, "b");
	assert_int_equal(sink_directory.encode(sink, w, on_item, &items), 0);
	assert_int_equal(items.n, 2);
	assert_int_equal(items.n_profiles[0], 2);
	assert_int_equal(items.n_profiles[1], 1);
	p = items.profiles[0];
	assert_int_equal(profile_n_samples(p), 4);
	assert_int_equal(n_with_label(p, "pod", "a"), 2);
	assert_int_equal(n_with_label(p, "pod", "b"), 2);
	assert_int_equal(n_with_label(p, "service_name", "shop"), 4);
	assert_int_equal(n_with_label(p, "empty", NULL), 0);
	assert_int_equal(n_with_label(p, "__name__", NULL), 0);
	/* Labels of samples stay. */
	assert_int_equal(n_with_label(p, "comm", "sh"), 2);
	assert_int_equal(profile_meta_const(p)->time_ns, window_start(0));
	assert_int_equal(profile_meta_const(p)->duration_ns, 15000000000);
	items_fini(&items);
	sink_directory.free(sink);
}

static void a_type_without_samples_makes_no_file(void **state)
{
	_cleanup_(export_window_freep) struct export_window *w = NULL;
	void *sink = open_sink(*state, 0, 0);
	struct items items = { 0 };
	struct profile *p;

	assert_int_equal(export_window_new(&w, window_start(0), window_start(1)), 0);
	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(export_window_add(w, p, NULL, 0), 0);
	assert_int_equal(sink_directory.encode(sink, w, on_item, &items), 0);
	assert_int_equal(items.n, 0);
	sink_directory.free(sink);
}

/* Sets the modification time of a file to @age_s seconds ago. */
static void set_age(const char *dir, const char *name, int64_t age_s)
{
	char path[512];
	struct timespec times[2];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	clock_gettime(CLOCK_REALTIME, &times[0]);
	times[0].tv_sec -= age_s;
	times[1] = times[0];
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void write_file(const char *dir, const char *name)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs("text", f) >= 0);
	fclose(f);
}

static void the_oldest_files_make_room_for_new_ones(void **state)
{
	void *sink = open_sink(*state, 2500, 0);
	struct listing l;

	write_file(*state, "cameo-notes.txt");
	write_file(*state, "other.pb.gz");
	for (int i = 0; i < 5; i++) {
		assert_int_equal(send_bytes(sink, window_start(i), 1000).verdict, SINK_DONE);
		l = list(*state);
		for (size_t k = 0; k < l.n; k++)
			if (strstr(l.names[k], ".000Z"))
				set_age(*state, l.names[k], 60 - (int64_t)k);
	}
	l = list(*state);
	/* Two of 1,000 bytes fit; files that are not the sink's stay. */
	assert_int_equal(l.n, 4);
	assert_string_equal(l.names[0], "cameo-20231114T221405.000Z.pb.gz");
	assert_string_equal(l.names[1], "cameo-20231114T221420.000Z.pb.gz");
	assert_string_equal(l.names[2], "cameo-notes.txt");
	assert_string_equal(l.names[3], "other.pb.gz");
	sink_directory.free(sink);
}

static void the_newest_file_stays_even_if_it_is_too_large(void **state)
{
	void *sink = open_sink(*state, 10, 0);

	assert_int_equal(send_bytes(sink, window_start(0), 1000).verdict, SINK_DONE);
	assert_int_equal(list(*state).n, 1);
	set_age(*state, list(*state).names[0], 60);
	assert_int_equal(send_bytes(sink, window_start(1), 1000).verdict, SINK_DONE);
	assert_int_equal(list(*state).n, 1);
	assert_string_equal(list(*state).names[0], "cameo-20231114T221335.000Z.pb.gz");
	sink_directory.free(sink);
}

/* Files that were written before the clock was set back look newer than those written after. */
static void files_of_a_clock_that_was_set_back_make_room_first(void **state)
{
	void *sink = open_sink(*state, 2500, 3600LL * CLOCK_SECOND_NS);

	for (int i = 0; i < 2; i++)
		assert_int_equal(send_bytes(sink, window_start(100 + i), 1000).verdict, SINK_DONE);
	for (int i = 0; i < 2; i++)
		set_age(*state, list(*state).names[i], i - 7200);
	for (int i = 0; i < 2; i++)
		assert_int_equal(send_bytes(sink, window_start(i), 1000).verdict, SINK_DONE);
	assert_int_equal(list(*state).n, 2);
	assert_string_equal(list(*state).names[0], "cameo-20231114T221320.000Z.pb.gz");
	assert_string_equal(list(*state).names[1], "cameo-20231114T221335.000Z.pb.gz");
	sink_directory.free(sink);
}

static void files_that_are_too_old_are_removed(void **state)
{
	void *sink = open_sink(*state, 0, 3600LL * CLOCK_SECOND_NS);

	assert_int_equal(send_bytes(sink, window_start(0), 10).verdict, SINK_DONE);
	set_age(*state, list(*state).names[0], 3500);
	assert_int_equal(send_bytes(sink, window_start(1), 10).verdict, SINK_DONE);
	assert_int_equal(list(*state).n, 2);
	set_age(*state, list(*state).names[0], 3700);
	assert_int_equal(send_bytes(sink, window_start(2), 10).verdict, SINK_DONE);
	assert_int_equal(list(*state).n, 2);
	assert_string_equal(list(*state).names[0], "cameo-20231114T221335.000Z.pb.gz");
	sink_directory.free(sink);
}

static void unfinished_files_of_an_earlier_process_are_removed(void **state)
{
	write_file(*state, ".cameo-20231114T221320.000Z.pb.gz.x1");
	write_file(*state, ".other");
	sink_directory.free(open_sink(*state, 0, 0));
	assert_int_equal(list(*state).n, 1);
	assert_string_equal(list(*state).names[0], ".other");
}

static void a_directory_that_others_can_write_to_is_refused(void **state)
{
	const struct export_sink_options opt = { .url = *state };
	struct err err = { 0 };
	void *sink;

	assert_int_equal(chmod(*state, 0777), 0);
	assert_int_equal(sink_directory.open(&sink, &opt, NULL, &err), -EINVAL);
	assert_non_null(strstr(err.msg, *state));
}

static void a_directory_that_is_gone_is_tried_later(void **state)
{
	void *sink = open_sink(*state, 0, 0);
	struct sink_outcome out;

	assert_int_equal(rmdir(*state), 0);
	out = send_bytes(sink, window_start(0), 1);
	assert_int_equal(out.verdict, SINK_LATER);
	assert_true(*out.why);
	/* Nothing is in progress that could be cancelled. */
	sink_directory.cancel(sink);
	assert_int_equal(mkdir(*state, 0700), 0);
	assert_int_equal(send_bytes(sink, window_start(0), 1).verdict, SINK_DONE);
	sink_directory.free(sink);
	sink_directory.free(NULL);
}

#define IN_DIR(f) cmocka_unit_test_setup_teardown(f, tempdir_make, tempdir_remove)

TEST_GROUP(test_directory, IN_DIR(files_are_named_after_the_start_of_their_window),
	   IN_DIR(every_time_has_a_name),
	   IN_DIR(processes_of_a_type_share_a_file_and_labels_keep_them_apart),
	   IN_DIR(a_type_without_samples_makes_no_file),
	   IN_DIR(the_oldest_files_make_room_for_new_ones),
	   IN_DIR(the_newest_file_stays_even_if_it_is_too_large),
	   IN_DIR(files_of_a_clock_that_was_set_back_make_room_first),
	   IN_DIR(files_that_are_too_old_are_removed),
	   IN_DIR(unfinished_files_of_an_earlier_process_are_removed),
	   IN_DIR(a_directory_that_others_can_write_to_is_refused),
	   IN_DIR(a_directory_that_is_gone_is_tried_later))
