/* SPDX-License-Identifier: Apache-2.0 */
/* Windows with a few samples of invented programs, and the series that the thread exports. */
#include "symbolize/symbolizer_thread.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "bpf/shared/abi.h"
#include "bpf/shared/offcpu.h"
#include "export/window.h"
#include "fixture.h"
#include "metadata/labeler.h"
#include "metadata/process_info.h"
#include "profile/profile.h"
#include "profiler/sample_counts.h"
#include "symbolize/frame_symbols.h"
#include "tests/test.h"

/* The result, a line for each series: START NAME/SERVICE=SAMPLES, and the number of windows. */
struct exported {
	char text[1024];
	size_t n_windows;
};

/* The number of samples; of waits, whose first type is time, the number of waits. */
static int64_t samples_of(const struct profile *p)
{
	int64_t sum = 0;

	for (size_t k = 0; k < profile_n_sample_types(p); k++)
		for (uint32_t i = 0; i < profile_n_samples(p); i++)
			if (!strcmp(profile_string(p, profile_sample_type(p, k).type), "samples"))
				sum += profile_sample(p, i).values[k];
	return sum;
}

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
			 export_label(s, "service_name"), (int)samples_of(s->profile));
	}
	export_window_free(w);
}

/* A thread whose programs are noted in an empty /proc. */
struct scene {
	struct fixture f;
	struct process_info_store *process_info;
	struct symbolizer_thread *n;
	struct exported out;
	struct frame_symbols_opts symbols;
	struct symbolizer_thread_opts opts;
	struct symbolizer_thread_stats stats;
};

static struct labeler *new_labeler(const char *rule, size_t max_series)
{
	const struct labeler_opts opts = { .labels = "",
					   .rules = &rule,
					   .n_rules = rule != NULL,
					   .max_series = max_series,
					   .host = "",
					   .containers.root = "/" };
	struct labeler *l;

	assert_int_equal(labeler_new(&l, &opts, NULL), 0);
	return l;
}

static void prepare(struct scene *s, const char *rule)
{
	*s = (struct scene){ .symbols = { .symbolizer.no_dwarf = true } };
	fixture_init(&s->f);
	s->symbols.files = s->f.files;
	s->symbols.jits = s->f.jits;
	assert_int_equal(process_info_store_new(&s->process_info, "/nowhere", NULL, 0), 0);
	s->opts = (struct symbolizer_thread_opts){ .frame_symbols = &s->symbols,
						   .process_info = s->process_info,
						   .labeler = new_labeler(rule, 100),
						   .export = on_export,
						   .ctx = &s->out };
}

static void begin(struct scene *s, const char *rule)
{
	prepare(s, rule);
	assert_int_equal(symbolizer_thread_new(&s->n, &s->opts), 0);
}

static void end(struct scene *s)
{
	symbolizer_thread_free(s->n);
	process_info_store_free(s->process_info);
	fixture_fini(&s->f);
}

/* Counts @n samples of process @pid, which runs /bin/@exe; NULL: nothing is known about it. */
static void count(struct scene *s, struct sample_counts *c, uint32_t pid, const char *exe, int n)
{
	struct sample_counts_thread thread = { .pid = pid, .tid = pid };
	uint64_t word = FRAME_WORD(FRAME_ADDRESS, pid);
	char path[64];

	snprintf(thread.process_comm, sizeof(thread.process_comm), "%s", exe ? exe : "");
	if (exe) {
		const struct process_info_key key = { .pid = pid, .comm = exe, .exe = path };

		snprintf(path, sizeof(path), "/bin/%s", exe);
		process_info_store_note(s->process_info, &key);
	}
	for (int i = 0; i < n; i++)
		assert_true(sample_counts_add(c, &thread, 1, &word, 1) >= 0);
}

static struct sample_counts *new_counts(void)
{
	struct sample_counts *c;

	assert_int_equal(sample_counts_new(&c, false), 0);
	return c;
}

/* a has 2 + 3 samples in two processes, b 4. */
static struct sample_counts *usual_counts(struct scene *s)
{
	struct sample_counts *c = new_counts();

	count(s, c, 10, "a", 2);
	count(s, c, 11, "b", 4);
	count(s, c, 12, "a", 3);
	return c;
}

static void submit(struct scene *s, struct sample_counts *c, int64_t time_ns)
{
	const struct symbolize_window window = { .time_ns = time_ns,
						 .duration_ns = 5,
						 .freq_hz = 100 };

	symbolizer_thread_submit(s->n, c, &window);
}

static void run(struct scene *s, struct sample_counts *c, int64_t time_ns)
{
	submit(s, c, time_ns);
	while (!symbolizer_thread_is_idle(s->n))
		sched_yield();
	symbolizer_thread_stats(s->n, &s->stats);
}

static void programs_with_equal_labels_share_a_profile(void **state)
{
	struct scene s;

	begin(&s, NULL);
	assert_true(symbolizer_thread_is_idle(s.n));
	run(&s, usual_counts(&s), 7);
	assert_string_equal(s.out.text, "7 process_cpu/a=5\n7 process_cpu/b=4\n");
	assert_int_equal(s.out.n_windows, 1);
	assert_int_equal(s.stats.n_windows, 1);
	assert_int_equal(s.stats.n_profiles, 2);
	assert_int_equal(s.stats.symbolize.n_frames, 9);
	assert_int_equal(s.stats.n_series, 2);
	run(&s, usual_counts(&s), 8);
	assert_int_equal(s.stats.n_profiles, 4);
	assert_int_equal(s.stats.symbolize.n_frames, 18);
	end(&s);
}

static void a_program_that_a_rule_drops_is_counted(void **state)
{
	struct scene s;

	begin(&s, "service_name=a : drop-process");
	run(&s, usual_counts(&s), 7);
	assert_string_equal(s.out.text, "7 process_cpu/b=4\n");
	assert_int_equal(s.stats.n_samples_dropped, 5);
	/* It was not symbolized. */
	assert_int_equal(s.stats.symbolize.n_frames, 4);
	end(&s);
}

static void a_program_that_was_not_noted_has_its_name_or_none(void **state)
{
	const struct sample_counts_thread named = { .pid = 2, .tid = 2, .process_comm = "gone" };
	uint64_t word = FRAME_WORD(FRAME_ADDRESS, 1);
	struct sample_counts *c = new_counts();
	struct scene s;

	begin(&s, NULL);
	count(&s, c, 1, NULL, 1);
	assert_true(sample_counts_add(c, &named, 1, &word, 1) >= 0);
	run(&s, c, 7);
	assert_string_equal(s.out.text, "7 process_cpu/unknown=1\n7 process_cpu/gone=1\n");
	end(&s);
}

static void waits_are_a_series_of_their_own(void **state)
{
	const struct sample_counts_thread thread = { .pid = 10, .tid = 10, .process_comm = "a" };
	const struct sample_counts_wait wait = { .ns = 500, .count = 3, .state = OFF_SLEEPING };
	uint64_t word = FRAME_WORD(FRAME_ADDRESS, 1);
	struct scene s;
	struct sample_counts *c;

	begin(&s, NULL);
	c = usual_counts(&s);
	assert_true(sample_counts_add_wait(c, &thread, &wait, &word, 1) >= 0);
	run(&s, c, 7);
	assert_non_null(strstr(s.out.text, "7 off_cpu/a=3\n"));
	assert_non_null(strstr(s.out.text, "7 process_cpu/a=5\n"));
	end(&s);
}

static void a_large_window_is_exported_in_parts(void **state)
{
	struct scene s;

	prepare(&s, NULL);
	s.opts.part_bytes = 1;
	assert_int_equal(symbolizer_thread_new(&s.n, &s.opts), 0);
	run(&s, usual_counts(&s), 7);
	/* Each program is a part, and the end of the window is one more. */
	assert_string_equal(s.out.text,
			    "7 process_cpu/a=2\n7 process_cpu/b=4\n7 process_cpu/a=3\n");
	assert_int_equal(s.out.n_windows, 4);
	assert_int_equal(s.stats.n_profiles, 3);
	end(&s);
}

static void an_empty_window_is_exported(void **state)
{
	struct scene s;

	begin(&s, NULL);
	run(&s, new_counts(), 7);
	assert_int_equal(s.out.n_windows, 1);
	assert_string_equal(s.out.text, "");
	end(&s);
}

static void series_above_the_limit_are_merged(void **state)
{
	struct sample_counts *c = new_counts();
	struct scene s;
	int sum = 0;

	prepare(&s, NULL);
	labeler_free(s.opts.labeler);
	s.opts.labeler = new_labeler(NULL, 1);
	assert_int_equal(symbolizer_thread_new(&s.n, &s.opts), 0);
	for (uint32_t i = 1; i <= 20; i++) {
		char exe[8];

		snprintf(exe, sizeof(exe), "p%u", i);
		count(&s, c, i, exe, 1);
	}
	run(&s, c, 7);
	assert_true(s.stats.n_series_over > 0);
	assert_true(s.stats.n_profiles < 20);
	assert_non_null(strstr(s.out.text, "/other="));
	for (const char *p = s.out.text; (p = strchr(p, '=')); p++)
		sum += (int)strtol(p + 1, NULL, 10);
	assert_int_equal(sum, 20);
	end(&s);
}

static void a_labeler_is_used_from_the_next_window_on(void **state)
{
	struct scene s;

	begin(&s, NULL);
	symbolizer_thread_set_labeler(s.n, new_labeler("service_name=a : drop-process", 100));
	/* The one before was never used. */
	symbolizer_thread_set_labeler(s.n, new_labeler("service_name=b : drop-process", 100));
	run(&s, usual_counts(&s), 7);
	assert_string_equal(s.out.text, "7 process_cpu/a=5\n");
	symbolizer_thread_set_labeler(s.n, new_labeler(NULL, 100));
	end(&s);
}

static void memory_can_be_freed_between_windows(void **state)
{
	struct scene s;

	begin(&s, NULL);
	for (int i = 0; i < 3; i++) {
		symbolizer_thread_shrink(s.n);
		run(&s, usual_counts(&s), i);
	}
	assert_int_equal(s.stats.n_windows, 3);
	assert_int_equal(s.stats.n_profiles, 6);
	end(&s);
}

static void finishing_completes_the_window_wherever_it_is(void **state)
{
	/* The thread may not have begun, be in the middle, or be done. */
	for (int i = 0; i < 20; i++) {
		struct scene s;

		begin(&s, NULL);
		submit(&s, usual_counts(&s), 7);
		for (int k = 0; k < i; k++)
			sched_yield();
		assert_int_equal(symbolizer_thread_finish(s.n, UINT64_MAX), 0);
		assert_string_equal(s.out.text, "7 process_cpu/a=5\n7 process_cpu/b=4\n");
		assert_true(symbolizer_thread_is_idle(s.n));
		/* Another window is symbolized by the calling thread. */
		submit(&s, usual_counts(&s), 8);
		assert_int_equal(symbolizer_thread_finish(s.n, UINT64_MAX), 0);
		assert_non_null(strstr(s.out.text, "8 process_cpu/b=4\n"));
		end(&s);
	}
}

static void samples_beyond_the_deadline_are_reported(void **state)
{
	struct scene s;

	begin(&s, NULL);
	assert_int_equal(symbolizer_thread_finish(s.n, UINT64_MAX), 0);
	submit(&s, usual_counts(&s), 7);
	assert_int_equal(symbolizer_thread_finish(s.n, 0), 9);
	assert_string_equal(s.out.text, "");
	assert_true(symbolizer_thread_is_idle(s.n));
	end(&s);
}

static void a_submitted_window_is_not_lost_at_the_end(void **state)
{
	struct scene s;

	begin(&s, NULL);
	symbolizer_thread_set_deadline(s.n, 1);
	submit(&s, usual_counts(&s), 7);
	end(&s);
	assert_string_equal(s.out.text, "7 process_cpu/a=5\n7 process_cpu/b=4\n");
	symbolizer_thread_free(NULL);
}

/* ---- labels that are read late ---------------------------------------------------------- */

/* The result: start time and service name of each series. */
struct handed_over {
	size_t n;
	int64_t start_ns[4];
	char service[4][16];
};

static void on_window(void *ctx, struct export_window *w)
{
	struct handed_over *out = ctx;

	for (size_t i = 0; i < w->series.len; i++) {
		assert_true(out->n < 4);
		out->start_ns[out->n] = w->start_ns;
		snprintf(out->service[out->n++], 16, "%s",
			 export_label(&w->series.data[i], "service_name"));
	}
	export_window_free(w);
}

/* Creates a /proc in which reading the environment of process 7 blocks until it is written. */
struct slow_proc {
	char dir[32], process[40], environ[64];
};

static void slow_proc_init(struct slow_proc *s)
{
	snprintf(s->dir, sizeof(s->dir), "/tmp/cameo-symbolize.XXXXXX");
	assert_non_null(mkdtemp(s->dir));
	snprintf(s->process, sizeof(s->process), "%s/7", s->dir);
	snprintf(s->environ, sizeof(s->environ), "%s/environ", s->process);
	assert_int_equal(mkdir(s->process, 0700), 0);
	assert_int_equal(mkfifo(s->environ, 0600), 0);
}

static void slow_proc_answer(const struct slow_proc *s, const char *text)
{
	int fd = open(s->environ, O_WRONLY | O_CLOEXEC);

	assert_int_equal(write(fd, text, strlen(text) + 1), strlen(text) + 1);
	close(fd);
}

static void slow_proc_fini(const struct slow_proc *s)
{
	assert_int_equal(unlink(s->environ) + rmdir(s->process) + rmdir(s->dir), 0);
}

/* Symbolizes a window that begins at @time_ns and has one sample of process 7. */
static void name_one(struct symbolizer_thread *n, int64_t time_ns)
{
	const struct sample_counts_thread thread = { .pid = 7, .tid = 7, .process_comm = "p" };
	const struct symbolize_window window = { .time_ns = time_ns,
						 .duration_ns = 5,
						 .freq_hz = 100 };
	uint64_t word = FRAME_WORD(FRAME_ADDRESS, 1);
	struct symbolizer_thread_stats stats;
	struct sample_counts *c;
	uint64_t before;

	symbolizer_thread_stats(n, &stats);
	before = stats.n_windows;
	assert_int_equal(sample_counts_new(&c, false), 0);
	assert_true(sample_counts_add(c, &thread, 1, &word, 1) >= 0);
	symbolizer_thread_submit(n, c, &window);
	while (!symbolizer_thread_is_idle(n))
		sched_yield();
	symbolizer_thread_stats(n, &stats);
	assert_int_equal(stats.n_windows, before + 1);
}

/* A symbolizer_thread with process 7, whose labels are still unknown. */
struct late {
	struct fixture f;
	struct slow_proc proc;
	struct process_info_store *process_info;
	struct symbolizer_thread *symbolizer_thread;
	struct handed_over out;
};

static void late_init(struct late *l)
{
	static const char *const env[] = { "OTEL_SERVICE_NAME" };
	const struct process_info_key of = { .pid = 7, .comm = "p", .exe = "/bin/exe" };
	const struct labeler_opts labels = { .labels = "",
					     .max_series = 10,
					     .env = env,
					     .n_env = 1,
					     .n_service = 1,
					     .host = "",
					     .containers.root = "/" };
	struct frame_symbols_opts lo = { .symbolizer.no_dwarf = true };
	struct symbolizer_thread_opts opts = { .frame_symbols = &lo,
					       .export = on_window,
					       .ctx = &l->out };

	*l = (struct late){ 0 };
	fixture_init(&l->f);
	slow_proc_init(&l->proc);
	lo.files = l->f.files;
	lo.jits = l->f.jits;
	assert_int_equal(process_info_store_new(&l->process_info, l->proc.dir, env, 1), 0);
	assert_int_equal(process_info_store_start(l->process_info), 0);
	process_info_store_note(l->process_info, &of);
	opts.process_info = l->process_info;
	assert_int_equal(labeler_new(&opts.labeler, &labels, NULL), 0);
	assert_int_equal(symbolizer_thread_new(&l->symbolizer_thread, &opts), 0);
}

static void late_fini(struct late *l)
{
	symbolizer_thread_free(l->symbolizer_thread);
	process_info_store_free(l->process_info);
	slow_proc_fini(&l->proc);
	fixture_fini(&l->f);
}

static void a_window_waits_for_late_labels(void **state)
{
	struct symbolizer_thread_stats stats;
	struct late l;

	late_init(&l);
	/* two windows are held and exported with the third */
	for (int64_t window = 1; window <= 2; window++)
		name_one(l.symbolizer_thread, window);
	assert_int_equal(l.out.n, 0);
	symbolizer_thread_stats(l.symbolizer_thread, &stats);
	assert_int_equal(stats.n_waiting, 2);
	slow_proc_answer(&l.proc, "OTEL_SERVICE_NAME=cart");
	process_info_store_wait(l.process_info, UINT64_MAX);
	name_one(l.symbolizer_thread, 3);
	assert_int_equal(l.out.n, 3);
	for (size_t i = 0; i < l.out.n; i++)
		assert_string_equal(l.out.service[i], "cart");
	assert_int_equal(l.out.start_ns[0] + l.out.start_ns[1] + l.out.start_ns[2], 6);
	symbolizer_thread_stats(l.symbolizer_thread, &stats);
	assert_int_equal(stats.n_waiting, 0);
	assert_int_equal(stats.n_unread, 0);
	late_fini(&l);
}

static void a_process_without_labels_is_counted_and_exported_at_the_end(void **state)
{
	struct symbolizer_thread_stats stats;
	struct late l;

	late_init(&l);
	name_one(l.symbolizer_thread, 1);
	assert_int_equal(l.out.n, 0);
	assert_int_equal(symbolizer_thread_finish(l.symbolizer_thread, UINT64_MAX), 0);
	assert_int_equal(l.out.n, 1);
	assert_string_equal(l.out.service[0], "exe");
	symbolizer_thread_stats(l.symbolizer_thread, &stats);
	assert_int_equal(stats.n_unread, 1);
	slow_proc_answer(&l.proc, "");
	late_fini(&l);
}

TEST_GROUP(test_symbolizer_thread, TEST(programs_with_equal_labels_share_a_profile),
	   TEST(a_program_that_a_rule_drops_is_counted),
	   TEST(a_program_that_was_not_noted_has_its_name_or_none),
	   TEST(waits_are_a_series_of_their_own), TEST(a_large_window_is_exported_in_parts),
	   TEST(an_empty_window_is_exported), TEST(series_above_the_limit_are_merged),
	   TEST(a_labeler_is_used_from_the_next_window_on),
	   TEST(memory_can_be_freed_between_windows),
	   TEST(finishing_completes_the_window_wherever_it_is),
	   TEST(samples_beyond_the_deadline_are_reported),
	   TEST(a_submitted_window_is_not_lost_at_the_end), TEST(a_window_waits_for_late_labels),
	   TEST(a_process_without_labels_is_counted_and_exported_at_the_end))
