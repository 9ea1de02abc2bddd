/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of invented programs become series; those without labels yet wait. */
#include "symbolize/series_exporter.h"

#include <stdio.h>
#include <string.h>

#include "export/window.h"
#include "metadata/labeler.h"
#include "metadata/process_info.h"
#include "profile/profile.h"
#include "profiler/sample_counts.h"
#include "tests/test.h"

/* The result, a line for each series: START NAME/SERVICE=SAMPLES. */
struct exported {
	char text[512];
	size_t n_windows;
};

static void on_export(void *ctx, struct export_window *w)
{
	struct exported *out = ctx;

	out->n_windows++;
	for (size_t i = 0; i < w->series.len; i++) {
		const struct export_series *s = &w->series.data[i];
		const char *name = export_label(s, "__name__");
		size_t len = strlen(out->text);

		snprintf(out->text + len, sizeof(out->text) - len, "%d %s/%s=%d\n",
			 (int)w->start_ns, name ? name : "process_cpu",
			 export_label(s, "service_name"),
			 (int)profile_sample(s->profile, 0).values[0]);
	}
	export_window_free(w);
}

struct scene {
	struct process_info_store *process_info;
	struct series_exporter *e;
	struct exported out;
	struct series_exporter_stats stats;
};

static void begin(struct scene *s, const char *rule, size_t part_bytes)
{
	const struct labeler_opts labels = { .labels = "",
					     .rules = &rule,
					     .n_rules = rule != NULL,
					     .max_series = 100,
					     .host = "",
					     .containers.root = "/" };
	struct series_exporter_opts opts = { .export = on_export,
					     .ctx = &s->out,
					     .part_bytes = part_bytes };
	struct labeler *labeler;

	*s = (struct scene){ 0 };
	assert_int_equal(process_info_store_new(&s->process_info, "/nowhere", NULL, 0), 0);
	assert_int_equal(labeler_new(&labeler, &labels, NULL), 0);
	opts.process_info = s->process_info;
	assert_int_equal(series_exporter_new(&s->e, &opts, labeler), 0);
}

static void end(struct scene *s)
{
	series_exporter_free(s->e);
	process_info_store_free(s->process_info);
}

static void window(struct scene *s, int64_t time_ns)
{
	const struct symbolize_window w = { .time_ns = time_ns, .duration_ns = 5 };

	series_exporter_begin(s->e, &w, 1);
}

/* A profile of @n samples. */
static struct profile *profile_of(int64_t n)
{
	struct profile_sample sample = { .values = &n };
	struct profile *p;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(profile_add_stack(p, NULL, 0, &sample.stack), 0);
	assert_int_equal(profile_add_sample(p, &sample), 0);
	return p;
}

static struct sample_counts_thread program(struct scene *s, uint32_t pid, const char *comm)
{
	struct sample_counts_thread t = { .pid = pid, .tid = pid };
	const struct process_info_key key = { .pid = pid, .comm = comm, .exe = comm };

	snprintf(t.process_comm, sizeof(t.process_comm), "%s", comm);
	process_info_store_note(s->process_info, &key);
	return t;
}

static void add(struct scene *s, const struct sample_counts_thread *t, enum symbolize_mode mode,
		int64_t n)
{
	assert_int_equal(series_exporter_add(s->e, t, mode, profile_of(n)), 0);
}

static bool never_ran(void *ctx, uint32_t pid, uint64_t start_ns, uint64_t until_ns,
		      bool any_program)
{
	return false;
}

static void equal_labels_are_one_series_and_waits_another(void **state)
{
	struct sample_counts_thread first, second, other;
	struct scene s;

	begin(&s, NULL, 0);
	first = program(&s, 1, "a");
	second = program(&s, 2, "a");
	other = program(&s, 3, "b");
	window(&s, 7);
	add(&s, &first, SYMBOLIZE_CPU, 2);
	add(&s, &other, SYMBOLIZE_CPU, 4);
	add(&s, &second, SYMBOLIZE_CPU, 3);
	add(&s, &first, SYMBOLIZE_OFF, 9);
	assert_int_equal(s.out.n_windows, 0);
	assert_int_equal(series_exporter_end(s.e), 0);
	assert_string_equal(s.out.text, "7 process_cpu/a=5\n7 process_cpu/b=4\n7 off_cpu/a=9\n");
	series_exporter_stats(s.e, &s.stats);
	assert_int_equal(s.stats.n_profiles, 3);
	assert_int_equal(s.stats.n_waiting, 0);
	end(&s);
}

static void a_dropped_program_does_not_pass_the_filter(void **state)
{
	struct sample_counts_thread dropped, other;
	struct scene s;

	begin(&s, "service_name=a : drop-process", 0);
	dropped = program(&s, 1, "a");
	other = program(&s, 2, "b");
	window(&s, 7);
	assert_false(series_exporter_filter(s.e, &dropped, 5));
	assert_true(series_exporter_filter(s.e, &other, 6));
	series_exporter_stats(s.e, &s.stats);
	assert_int_equal(s.stats.n_samples_dropped, 5);
	end(&s);
}

static void discarding_a_window_exports_nothing_of_it(void **state)
{
	struct sample_counts_thread t;
	struct scene s;

	begin(&s, NULL, 0);
	t = program(&s, 1, "a");
	window(&s, 7);
	add(&s, &t, SYMBOLIZE_CPU, 2);
	series_exporter_discard(s.e);
	assert_int_equal(s.out.n_windows, 0);
	window(&s, 8);
	add(&s, &t, SYMBOLIZE_CPU, 1);
	assert_int_equal(series_exporter_end(s.e), 0);
	assert_string_equal(s.out.text, "8 process_cpu/a=1\n");
	window(&s, 9);
	add(&s, &t, SYMBOLIZE_CPU, 1); /* freed with the exporter */
	end(&s);
}

static void a_profile_waits_for_labels_until_it_waited_long_enough(void **state)
{
	struct sample_counts_thread t;
	struct scene s;

	begin(&s, NULL, 0);
	process_info_store_set_confirm(s.process_info, never_ran, NULL);
	t = program(&s, 1, "a");
	for (int64_t i = 1; i <= 4; i++) {
		window(&s, i);
		if (i == 1)
			add(&s, &t, SYMBOLIZE_CPU, 2);
		assert_int_equal(series_exporter_end(s.e), 0);
		series_exporter_stats(s.e, &s.stats);
		assert_int_equal(s.stats.n_waiting, 1);
	}
	window(&s, 5);
	assert_int_equal(series_exporter_end(s.e), 0);
	assert_string_equal(s.out.text, "1 process_cpu/a=2\n");
	series_exporter_stats(s.e, &s.stats);
	assert_int_equal(s.stats.n_waiting, 0);
	assert_int_equal(s.stats.n_unread, 1);
	end(&s);
}

static void at_the_end_nothing_waits(void **state)
{
	struct sample_counts_thread t;
	struct scene s;

	begin(&s, NULL, 0);
	process_info_store_set_confirm(s.process_info, never_ran, NULL);
	t = program(&s, 1, "a");
	window(&s, 0);
	add(&s, &t, SYMBOLIZE_CPU, 2);
	assert_int_equal(series_exporter_end(s.e), 0);
	assert_string_equal(s.out.text, "");
	series_exporter_flush(s.e, 2);
	assert_string_equal(s.out.text, "");
	series_exporter_set_last(s.e);
	series_exporter_flush(s.e, 3);
	assert_string_equal(s.out.text, "0 process_cpu/a=2\n");
	end(&s);
}

static void too_many_held_bytes_end_the_wait(void **state)
{
	struct sample_counts_thread t;
	struct scene s;

	begin(&s, NULL, 1);
	process_info_store_set_confirm(s.process_info, never_ran, NULL);
	t = program(&s, 1, "a");
	window(&s, 3);
	add(&s, &t, SYMBOLIZE_CPU, 2); /* held, which exceeds the limit */
	add(&s, &t, SYMBOLIZE_CPU, 1);
	assert_string_equal(s.out.text, "3 process_cpu/a=1\n");
	assert_int_equal(series_exporter_end(s.e), 0);
	assert_string_equal(s.out.text, "3 process_cpu/a=1\n3 process_cpu/a=2\n");
	end(&s);
}

TEST_GROUP(test_series_exporter, TEST(equal_labels_are_one_series_and_waits_another),
	   TEST(a_dropped_program_does_not_pass_the_filter),
	   TEST(discarding_a_window_exports_nothing_of_it),
	   TEST(a_profile_waits_for_labels_until_it_waited_long_enough),
	   TEST(at_the_end_nothing_waits), TEST(too_many_held_bytes_end_the_wait))
