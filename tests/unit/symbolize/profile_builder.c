/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selections of samples become profiles with labels, values and times.
 *
 * covers: src/symbolize/sample_types.c src/symbolize/wait_frames.c
 */
#include "symbolize/profile_builder.h"

#include <stdio.h>
#include <string.h>

#include "bpf/shared/abi.h"
#include "bpf/shared/offcpu.h"
#include "fixture.h"
#include "profile/profile.h"
#include "profiler/resident.h"
#include "profiler/sample_counts.h"
#include "profiler/wakers.h"
#include "symbolize/symbolize_stats.h"
#include "tests/test.h"

static const struct sample_counts_thread thread = {
	.pid = 7, .tid = 8, .comm = "t", .process_comm = "p", .cpu_plus_1 = 4
};

/* Sample 0 is two samples on the CPU at 10 and 30 ns, sample 1 a wait of 500 ns. */
static void add_samples(struct fixture *f)
{
	const struct sample_counts_wait wait = { .ns = 500, .count = 1, .state = OFF_SLEEPING };
	uint64_t word = FRAME_WORD(FRAME_ADDRESS, 1);

	assert_true(sample_counts_add(f->collect, &thread, 10, &word, 1) >= 0);
	assert_true(sample_counts_add(f->collect, &thread, 30, &word, 1) >= 0);
	assert_true(sample_counts_add_wait(f->collect, &thread, &wait, &word, 1) >= 0);
	assert_int_equal(sample_counts_n_samples(f->collect), 2);
}

/* The text of a label, its number as text, or "" without the label. */
static const char *label(const struct profile *p, uint32_t sample, const char *key)
{
	static char number[24];
	struct profile_sample s = profile_sample(p, sample);

	for (uint32_t i = 0; i < s.n_labels; i++) {
		if (strcmp(profile_string(p, s.labels[i].key), key) != 0)
			continue;
		snprintf(number, sizeof(number), "%d", (int)s.labels[i].num);
		return s.labels[i].str ? profile_string(p, s.labels[i].str) : number;
	}
	return "";
}

static const char *type(const struct profile *p, size_t i)
{
	return profile_string(p, profile_sample_type(p, i).type);
}

static void one_builder_makes_several_profiles(void **state)
{
	const struct symbolize_window window = { .freq_hz = 100,
						 .time_ns = 5,
						 .clock_offset_ns = 1000 };
	const uint32_t on = 0, off = 1;
	struct symbolize_stats stats = { 0 };
	struct profile_builder *b;
	struct profile *p;
	struct fixture f;

	fixture_init(&f);
	add_samples(&f);
	assert_int_equal(profile_builder_new(&b, f.frame_symbols, f.collect, &window, &stats), 0);

	profile_builder_select(b, SYMBOLIZE_CPU, &on, 1);
	assert_int_equal(profile_builder_prefetch(b), 0);
	assert_int_equal(profile_builder_build(b, &p), 0);
	assert_int_equal(profile_n_samples(p), 1);
	assert_string_equal(type(p, 0), "samples");
	assert_string_equal(type(p, 1), "cpu");
	assert_int_equal(profile_sample(p, 0).values[0], 2);
	assert_int_equal(profile_sample(p, 0).values[1], 20000000);
	assert_int_equal(profile_sample(p, 0).n_times, 2);
	assert_int_equal(profile_sample(p, 0).times[0], 1010);
	assert_int_equal(profile_sample(p, 0).times[1], 1030);
	assert_string_equal(label(p, 0, "pid"), "7");
	assert_string_equal(label(p, 0, "cpu"), "3");
	assert_string_equal(label(p, 0, "comm"), "p");
	assert_string_equal(label(p, 0, "state"), "");
	profile_free(p);

	profile_builder_select(b, SYMBOLIZE_OFF, &off, 1);
	assert_int_equal(profile_builder_build(b, &p), 0);
	assert_int_equal(profile_n_samples(p), 1);
	assert_string_equal(type(p, 0), "off_cpu");
	assert_int_equal(profile_sample(p, 0).values[0], 500);
	assert_int_equal(profile_sample(p, 0).values[1], 1);
	assert_int_equal(profile_sample(p, 0).n_times, 0);
	assert_string_equal(label(p, 0, "state"), "sleeping");
	assert_int_equal(profile_meta(p)->period, 0);
	profile_free(p);

	assert_int_equal(stats.by_event[0], 2);
	assert_int_equal(stats.off_ns, 500);
	profile_builder_free(b);
	fixture_fini(&f);
}

static void wall_profiles_have_four_values(void **state)
{
	const struct symbolize_window window = { .freq_hz = 100 };
	const uint32_t all[] = { 0, 1 };
	struct symbolize_stats stats = { 0 };
	struct profile_builder *b;
	struct profile *p;
	struct fixture f;

	fixture_init(&f);
	add_samples(&f);
	assert_int_equal(profile_builder_new(&b, f.frame_symbols, f.collect, &window, &stats), 0);
	profile_builder_select(b, SYMBOLIZE_WALL, all, 2);
	assert_int_equal(profile_builder_build(b, &p), 0);
	assert_int_equal(profile_n_sample_types(p), 4);
	assert_string_equal(type(p, 3), "wall");
	assert_int_equal(profile_sample(p, 0).values[3], 20000000);
	assert_string_equal(label(p, 0, "state"), "running");
	assert_int_equal(profile_sample(p, 1).values[0], 0);
	assert_int_equal(profile_sample(p, 1).values[2], 500);
	assert_int_equal(profile_sample(p, 1).values[3], 500);
	profile_free(p);
	profile_builder_free(b);
	fixture_fini(&f);
}

static void with_locks_only_other_waits_are_omitted(void **state)
{
	const struct symbolize_window window = { .freq_hz = 100, .locks_only = true };
	const uint32_t all[] = { 0, 1 };
	struct symbolize_stats stats = { 0 };
	struct profile_builder *b;
	struct profile *p;
	struct fixture f;

	fixture_init(&f);
	add_samples(&f);
	assert_int_equal(profile_builder_new(&b, f.frame_symbols, f.collect, &window, &stats), 0);
	profile_builder_select(b, SYMBOLIZE_WALL, all, 2);
	assert_int_equal(profile_builder_build(b, &p), 0);
	assert_int_equal(profile_n_samples(p), 1);
	assert_string_equal(label(p, 0, "state"), "running");
	assert_int_equal(stats.off_ns, 500);
	assert_int_equal(stats.futex_ns, 0);
	profile_free(p);
	profile_builder_free(b);
	fixture_fini(&f);
}

/* Names of the frames of a sample, leaf first, each followed by a semicolon. */
static const char *frames(const struct profile *p, uint32_t sample)
{
	static char text[400];
	size_t n, at = 0;
	const uint32_t *ids = profile_stack(p, profile_sample(p, sample).stack, &n);

	text[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		struct profile_location l = profile_location(p, ids[i]);
		uint32_t name = profile_function(p, l.lines[0].function)->name;

		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s;",
				       profile_string(p, name));
	}
	return text;
}

/* Without names of the kernel's functions, an interrupt cannot be distinguished. */
static void wakers_are_unknown_without_kernel_symbols(void **state)
{
	const struct sample_counts_thread other = {
		.pid = 9, .tid = 9, .comm = "w", .process_comm = "q"
	};
	const struct sample_counts_wait wait = { .ns = 500, .count = 1, .state = OFF_SLEEPING };
	const struct symbolize_window window = { .freq_hz = 100 };
	uint64_t words[] = { FRAME_WORD(FRAME_ADDRESS, 2), 0, FRAME_WORD(FRAME_ADDRESS, 1) };
	const uint32_t only = 0;
	struct symbolize_stats stats = { 0 };
	struct profile_builder *b;
	struct profile *p;
	struct fixture f;
	uint32_t id;

	fixture_init(&f);
	assert_int_equal(sample_counts_intern_thread(f.collect, &other, &id), 0);
	words[1] = WAKER_WORD(id, false);
	assert_true(sample_counts_add_wait(f.collect, &thread, &wait, words, 3) >= 0);
	assert_int_equal(profile_builder_new(&b, f.frame_symbols, f.collect, &window, &stats), 0);
	profile_builder_select(b, SYMBOLIZE_OFF, &only, 1);
	assert_int_equal(profile_builder_build(b, &p), 0);
	assert_string_equal(frames(p, 0), "[waker unknown];[anonymous code];");
	assert_int_equal(profile_sample(p, 0).values[0], 500);
	assert_int_equal(stats.off_ns, 500);
	assert_int_equal(stats.no_waker_ns, 500);
	profile_free(p);
	profile_builder_free(b);
	fixture_fini(&f);
}

/* Each stack of memory has one value, and its kind as a label. */
static void profiles_of_memory_have_bytes_by_kind(void **state)
{
	const struct symbolize_window window = { .freq_hz = 100, .mode = SYMBOLIZE_RESIDENT };
	const uint64_t word = FRAME_WORD(FRAME_ADDRESS, 1), text = FRAME_WORD(FRAME_TEXT, 5);
	const uint32_t all[] = { 0, 1, 2 };
	struct symbolize_stats stats = { 0 };
	struct profile_builder *b;
	struct fixture f;
	struct profile *p;

	fixture_init(&f);
	sample_counts_add_memory(f.collect, &thread, NULL, RESIDENT_ANONYMOUS, 8192, &word, 1);
	sample_counts_add_memory(f.collect, &thread, NULL, RESIDENT_ANONYMOUS, 4096, &word, 1);
	sample_counts_add_memory(f.collect, &thread, NULL, RESIDENT_FILE, 4096, &word, 1);
	sample_counts_add_memory(f.collect, &thread, NULL, RESIDENT_FILE, 4096, &text, 1);
	assert_int_equal(profile_builder_new(&b, f.frame_symbols, f.collect, &window, &stats), 0);
	profile_builder_select(b, SYMBOLIZE_RESIDENT, all, 3);
	assert_int_equal(profile_builder_build(b, &p), 0);
	assert_int_equal(profile_n_sample_types(p), 1);
	assert_string_equal(type(p, 0), "resident");
	assert_int_equal(profile_sample(p, 0).values[0], 12288);
	assert_string_equal(label(p, 0, "memory"), "anonymous");
	assert_int_equal(profile_sample(p, 1).values[0], 4096);
	assert_string_equal(label(p, 1, "memory"), "file");
	assert_string_equal(label(p, 1, "state"), "");
	assert_int_equal(profile_meta(p)->period, 0);
	profile_free(p);
	profile_builder_free(b);
	fixture_fini(&f);
}

/* The types have the names and the order of those in Go. */
static void profiles_of_the_heap_have_gos_sample_types(void **state)
{
	static const char *const types[] = { "alloc_objects", "alloc_space", "inuse_objects",
					     "inuse_space" };
	const struct symbolize_window window = { .freq_hz = 100,
						 .mode = SYMBOLIZE_LIVE,
						 .alloc_bytes = 4096 };
	const struct sample_counts_heap heap = {
		.objects = 5, .bytes = 500, .live_objects = 2, .live_bytes = 200
	};
	const uint64_t word = FRAME_WORD(FRAME_ADDRESS, 1);
	const int64_t values[] = { 5, 500, 2, 200 };
	const uint32_t all[] = { 0 };
	struct symbolize_stats stats = { 0 };
	struct profile_builder *b;
	struct fixture f;
	struct profile *p;

	fixture_init(&f);
	sample_counts_add_heap(f.collect, &thread, &heap, &word, 1);
	assert_int_equal(profile_builder_new(&b, f.frame_symbols, f.collect, &window, &stats), 0);
	profile_builder_select(b, SYMBOLIZE_LIVE, all, 1);
	assert_int_equal(profile_builder_build(b, &p), 0);
	assert_int_equal(profile_n_sample_types(p), 4);
	for (size_t i = 0; i < 4; i++) {
		assert_string_equal(type(p, i), types[i]);
		assert_int_equal(profile_sample(p, 0).values[i], values[i]);
	}
	assert_string_equal(profile_string(p, profile_meta(p)->default_sample_type), "inuse_space");
	assert_int_equal(profile_meta(p)->period, 4096);
	profile_free(p);
	profile_builder_free(b);
	fixture_fini(&f);
}

TEST_GROUP(test_profile_builder, TEST(one_builder_makes_several_profiles),
	   TEST(profiles_of_memory_have_bytes_by_kind),
	   TEST(profiles_of_the_heap_have_gos_sample_types), TEST(wall_profiles_have_four_values),
	   TEST(with_locks_only_other_waits_are_omitted),
	   TEST(wakers_are_unknown_without_kernel_symbols))
