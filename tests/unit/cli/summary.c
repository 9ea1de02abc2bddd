/* SPDX-License-Identifier: Apache-2.0 */
/* The summary of a recording reports every loss, and nothing that did not happen. */
#include "cli/summary.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/events.h"
#include "tests/test.h"

enum { CAP = 8192 };

static const struct event_list no_events;

/* The result of summary_print(), which writes to standard error. */
static const char *printed(const struct summary *s)
{
	static char text[CAP];
	int saved = dup(STDERR_FILENO), fd = memfd_create("summary", MFD_CLOEXEC);
	ssize_t n;

	assert_true(saved >= 0 && fd >= 0);
	dup2(fd, STDERR_FILENO);
	summary_print(s);
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	n = pread(fd, text, sizeof(text) - 1, 0);
	assert_true(n >= 0);
	text[n] = '\0';
	close(saved);
	close(fd);
	return text;
}

/* A recording of 1000 samples in which nothing was lost. */
static struct summary good(void)
{
	struct summary s = {
		.events = &no_events,
		.path = "cameo.pb.gz",
		.duration_ns = 2500000000,
		.n_stacks = 40,
	};

	s.session.records.n_samples = 1000;
	s.session.records.n_complete = 995;
	s.session.procs.n_recorded = 1;
	s.symbols.n_frames = 200;
	s.symbols.n_unnamed = 1;
	return s;
}

static void a_recording_without_losses_takes_two_lines(void **state)
{
	struct summary s = good();

	assert_string_equal(printed(&s),
			    "cameo: 1000 samples in 2.5 s, 1 process, 40 stacks, 99.5 % complete, "
			    "0 lost, 0.5 % of frames without a symbol\n"
			    "cameo: wrote cameo.pb.gz\n");
	s.session.procs.n_recorded = 2;
	s.path = "-";
	assert_non_null(strstr(printed(&s), "2 processes"));
	assert_null(strstr(printed(&s), "wrote"));
}

static void packages_with_missing_names_are_listed(void **state)
{
	struct summary s = good();

	s.hints = (struct package_hints){
		.at = { { "php8.2-cli-dbgsym", 0.5 }, { "libz1-dbgsym", 0.123 } }, .n = 2
	};
	assert_non_null(
		strstr(printed(&s), " php8.2-cli-dbgsym (50.0 %), libz1-dbgsym (12.3 %)\n"));
}

static void a_recording_without_samples_divides_by_nothing(void **state)
{
	struct summary s = { .events = &no_events, .path = "-", .verbose = true };

	assert_non_null(strstr(printed(&s), "0 samples in 0.0 s, 0 processes, 0 stacks, 0.0 % "));
	assert_null(strstr(printed(&s), "nan"));
	assert_null(strstr(printed(&s), "inf"));
}

static void an_empty_recording_says_why_and_what_to_try(void **state)
{
	struct summary s = { .events = &no_events, .path = "-" };

	assert_non_null(strstr(printed(&s), "no samples: the selected processes used no CPU time; "
					    "record where they wait (--off-cpu or --wall)"));
	s.what = SYMBOLIZE_OFF;
	assert_null(strstr(printed(&s), "no samples"));
	s = good();
	assert_null(strstr(printed(&s), "no samples"));
}

static void stacks_found_by_search_are_counted_apart(void **state)
{
	struct summary s = good();

	assert_null(strstr(printed(&s), "search"));
	s.session.records.n_complete = 900;
	s.session.records.n_searched = 95;
	assert_non_null(strstr(printed(&s), " 90.0 % complete, "));
	assert_non_null(strstr(printed(&s), "cameo: 95 stacks (9.5 %) are complete, with a caller "
					    "found by search"));
	s.session.records.n_searched = 1;
	assert_non_null(strstr(printed(&s), "cameo: 1 stack (0.1 %) is complete, with a caller "
					    "found by search: it has the label"));
}

static void every_reason_of_incomplete_stacks_has_a_line(void **state)
{
	struct summary s = good();
	const char *text;
	int n = 0;

	for (int i = WALK_OK + 1; i < WALK_ERR_MAX; i++)
		s.session.records.walk_errors[i] = 100 + (uint64_t)i;
	text = printed(&s);
	for (int i = WALK_OK + 1; i < WALK_ERR_MAX; i++) {
		char line[64];

		snprintf(line, sizeof(line), "cameo: %d stacks are incomplete: ", 100 + i);
		assert_non_null(strstr(text, line));
	}
	for (; (text = strstr(text, " stacks are incomplete: ")); text++)
		n++;
	assert_int_equal(n, WALK_ERR_MAX - 1);
}

static void losses_and_restarts_are_reported(void **state)
{
	struct summary s = good();
	const char *text;

	s.session.procs.n_sideband_lost = 17;
	s.symbolizer.worker_restarts = 3;
	s.symbolizer.files_given_up = 2;
	text = printed(&s);
	assert_non_null(strstr(text, "17 process events were lost"));
	assert_non_null(strstr(text, "restarted 3 times; 2 files that crashed it"));
}

/* One sample in 20 is worth a line about what a user can do. */
static void generated_code_is_mentioned_from_a_twentieth_on(void **state)
{
	struct summary s = good();

	s.symbols.n_generated = 49;
	s.symbols.n_approximate = 49;
	snprintf(s.symbols.generated_by, sizeof(s.symbols.generated_by), "a\x1b[2Jb");
	assert_null(strstr(printed(&s), "generated code"));
	assert_null(strstr(printed(&s), "DebugNonSafepoints"));
	s.symbols.n_generated = 50;
	s.symbols.n_approximate = 50;
	assert_non_null(strstr(printed(&s), "50 samples contain generated code of a [2Jb without"));
	assert_non_null(strstr(printed(&s), "50 samples (5.0 %) are in compiled Java code"));
}

static void off_cpu_time_has_lines_of_its_own(void **state)
{
	struct summary s = good();
	unsigned long long *n = s.session.sampler.counts.n;
	const char *text;

	s.what = SYMBOLIZE_OFF;
	s.symbols.off_ns = 4000000000;
	s.symbols.futex_ns = 1000000000;
	n[COUNTER_OFF_INTERVALS] = 77;
	text = printed(&s);
	assert_non_null(strstr(text, "4.000 s off-CPU time in 77 waits, 25.0 % of it for locks"));
	assert_null(strstr(text, "1000 samples in"));
	assert_null(strstr(text, "not recorded"));
	assert_null(strstr(text, "--off-min"));
	n[COUNTER_OFF_THINNED] = 5;
	n[COUNTER_OFF_SHORT] = 6;
	n[COUNTER_OFF_SHORT_NS] = 1500000000;
	n[COUNTER_OFF_NO_ROOM] = 7;
	s.symbols.no_stack_ns = 400000000;
	s.what = SYMBOLIZE_WALL;
	text = printed(&s);
	assert_non_null(strstr(text, "1000 samples in"));
	assert_non_null(strstr(text, "5 short waits were not recorded"));
	assert_non_null(strstr(text, "10.0 % of the off-CPU time has no stack"));
	assert_non_null(strstr(text, "skipped 6 waits below --off-min, 1.500 s in total"));
	assert_non_null(strstr(text, "7 samples are lost: the waits of new threads"));
}

static void several_events_are_counted_each(void **state)
{
	char a[] = "page-faults", b[] = "sched:sched_switch";
	struct event two[] = { { .name = a }, { .name = b } };
	const struct event_list events = { .data = two, .len = 2 };
	struct summary s = good();

	s.events = &events;
	s.symbols.by_event[0] = 600;
	s.symbols.by_event[1] = 400;
	assert_non_null(strstr(printed(&s), "cameo: 600 samples of page-faults, 400 samples of "
					    "sched:sched_switch\n"));
}

static void costs_are_for_verbose_recordings(void **state)
{
	struct summary s = good();

	s.start_cpu_ns = 800000000;
	s.sampling_cpu_ns = 5000000;
	s.total_cpu_ns = 9000000;
	s.session.sampler.run_ns = 3000000;
	s.session.sampler.run_count = 1234;
	assert_null(strstr(printed(&s), "own CPU time"));
	s.verbose = true;
	assert_non_null(strstr(printed(&s), "own CPU time: 800 ms to start; per sample 5.00 us "
					    "while sampling, 9.00 us with symbolization and "
					    "output; BPF 3000 ns per sample (1234 runs)"));
}

TEST_GROUP(test_summary, TEST(a_recording_without_losses_takes_two_lines),
	   TEST(packages_with_missing_names_are_listed),
	   TEST(a_recording_without_samples_divides_by_nothing),
	   TEST(an_empty_recording_says_why_and_what_to_try),
	   TEST(stacks_found_by_search_are_counted_apart),
	   TEST(every_reason_of_incomplete_stacks_has_a_line),
	   TEST(losses_and_restarts_are_reported),
	   TEST(generated_code_is_mentioned_from_a_twentieth_on),
	   TEST(off_cpu_time_has_lines_of_its_own), TEST(several_events_are_counted_each),
	   TEST(costs_are_for_verbose_recordings))
