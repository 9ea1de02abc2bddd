/* SPDX-License-Identifier: Apache-2.0 */
/* Frame words of this program, of the kernel and without symbols become profiles. */
#include "symbolize/symbolize.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "bpf/shared/abi.h"
#include "fixture.h"
#include "proc/maps.h"
#include "process/file_table.h"
#include "process/jit_symbols.h"
#include "profile/profile.h"
#include "profiler/sample_counts.h"
#include "sampler/events.h"
#include "symbolize/frame_symbols.h"
#include "tests/test.h"
#include "unwind/tables.h"

struct own_map {
	uint64_t addr;
	uint32_t file;
	uint64_t off;
	struct file_table *files;
};

static int find_own(void *ctx, const struct proc_map *m)
{
	struct own_map *own = ctx;
	struct file_ref ref = { .pid = (uint32_t)getpid(),
				.start = m->start,
				.end = m->end,
				.dev_major = m->dev_major,
				.dev_minor = m->dev_minor,
				.inode = m->inode,
				.path = m->path };

	if (own->addr < m->start || own->addr >= m->end)
		return 0;
	own->off = own->addr - m->start + m->file_off;
	own->file = file_table_find(own->files, &ref);
	/* found again by its inode, it has the same id */
	assert_int_equal(file_table_find(own->files, &ref), own->file);
	return 1;
}

/* Returns the name of the innermost function of frame @i of the only stack. */
static const char *frame_name(const struct profile *p, size_t i)
{
	size_t n;
	const uint32_t *stack = profile_stack(p, 0, &n);
	struct profile_location l;

	assert_true(i < n);
	l = profile_location(p, stack[i]);
	assert_true(l.n_lines >= 1);
	return profile_string(p, profile_function(p, l.lines[0].function)->name);
}

__attribute__((noinline, used)) void a_function_known_by_name(void);
__attribute__((noinline, used)) void a_function_known_by_name(void)
{
	__asm__ volatile("nop; nop");
}

static void symbolizes_code_and_retains_frames_without_symbols(void **state)
{
	const struct sample_counts_thread thread = {
		.pid = 7, .tid = 8, .comm = "t", .process_comm = "p"
	};
	struct symbolize_window window = { .freq_hz = 100,
					   .duration_ns = 5,
					   .clock_offset_ns = 1000 };
	struct own_map own = { .addr = (uint64_t)a_function_known_by_name };
	struct symbolize_stats stats;
	struct profile *p;
	struct fixture f;
	uint64_t words[4];
	size_t n;

	fixture_init(&f);
	own.files = f.files;
	assert_int_equal(proc_maps_read(getpid(), PROC_MAPS_EXEC, find_own, &own, NULL), 1);
	assert_int_not_equal(own.file, FILE_ID_NONE);
	words[0] = FRAME_NATIVE_WORD(own.file, own.off);
	words[1] = FRAME_NATIVE_WORD(own.file, FRAME_OFFSET_MASK);
	words[2] = FRAME_WORD(FRAME_ADDRESS, 0x1234);
	words[3] = FRAME_WORD(FRAME_ERROR, WALK_ERR_NO_RULE);
	for (int i = 0; i < 3; i++)
		assert_true(sample_counts_add(f.collect, &thread, 100 + (uint64_t)i, words, 4) >=
			    0);
	assert_int_equal(symbolize_profile(f.frame_symbols, f.collect, &window, &p, &stats, NULL),
			 0);

	assert_int_equal(profile_n_samples(p), 1);
	assert_int_equal(profile_sample(p, 0).values[0], 3);
	assert_int_equal(profile_sample(p, 0).values[1], 3 * 10000000);
	assert_int_equal(profile_sample(p, 0).n_labels, 4);
	(void)profile_stack(p, 0, &n);
	assert_int_equal(n, 4);
	assert_string_equal(frame_name(p, 0), "a_function_known_by_name");
	assert_non_null(strstr(frame_name(p, 1), "+0x"));
	assert_string_equal(frame_name(p, 2), "[anonymous code]");
	assert_string_equal(frame_name(p, 3), "[incomplete: no unwind rule]");
	assert_int_equal(profile_sample(p, 0).n_times, 3);
	assert_int_equal(profile_sample(p, 0).times[0], 1100);
	assert_int_equal(profile_sample(p, 0).times[2], 1102);
	assert_int_equal(stats.by_kind[PROFILE_FRAME_NATIVE][WALK_ERR_NO_RULE], 3);
	assert_int_equal(stats.n_frames, 9);
	assert_int_equal(stats.n_unnamed, 6);
	assert_int_equal(stats.n_generated, 3);
	assert_string_equal(stats.generated_by, "p");
	profile_free(p);
	fixture_fini(&f);
}

static bool has_label(const struct profile *p, uint32_t sample, const char *key, const char *value)
{
	struct profile_sample s = profile_sample(p, sample);
	bool found = false;

	for (uint32_t i = 0; i < s.n_labels; i++)
		found |= !strcmp(profile_string(p, s.labels[i].key), key) &&
			 !strcmp(profile_string(p, s.labels[i].str), value);
	return found;
}

static void stacks_found_by_search_have_a_label(void **state)
{
	const struct sample_counts_thread thread = { .pid = 7, .tid = 7 };
	struct symbolize_window window = { .freq_hz = 100 };
	uint64_t words[] = { 0xffffffff81000000, FRAME_WORD(FRAME_ADDRESS, 0x1234) };
	struct symbolize_stats stats;
	struct profile *p;
	struct fixture f;

	fixture_init(&f);
	assert_true(sample_counts_add(f.collect, &thread, 1, words, 2) >= 0);
	words[1] |= SAMPLE_COUNTS_SEARCHED;
	assert_true(sample_counts_add(f.collect, &thread, 2, words, 2) >= 0);
	assert_int_equal(symbolize_profile(f.frame_symbols, f.collect, &window, &p, &stats, NULL),
			 0);
	assert_int_equal(profile_n_samples(p), 2);
	assert_int_equal(profile_n_stacks(p), 1);
	assert_false(has_label(p, 0, "unwind", "search"));
	assert_true(has_label(p, 1, "unwind", "search"));
	assert_int_equal(stats.by_kind[PROFILE_FRAME_KERNEL][WALK_OK], 1);
	assert_int_equal(stats.searched_by_kind[PROFILE_FRAME_KERNEL], 1);
	profile_free(p);
	fixture_fini(&f);
}

static void several_events_are_sample_types_of_one_profile(void **state)
{
	struct event events[] = {
		{ .kind = EVENT_TRACEPOINT, .name = (char *)"sched:x", .period = 5 },
		{ .kind = EVENT_PERF, .name = (char *)"cpu-clock", .is_clock = true },
	};
	const struct sample_counts_thread thread = { .pid = 7, .tid = 8, .comm = "t" };
	struct symbolize_window window = {
		.freq_hz = 100, .events = events, .n_events = 2, .per_thread = true
	};
	uint64_t word = FRAME_WORD(FRAME_ADDRESS, 0x1234);
	struct symbolize_stats stats;
	struct profile *p;
	struct fixture f;

	fixture_init(&f);
	for (uint8_t i = 0; i < 3; i++)
		assert_true(sample_counts_add_event(f.collect, &thread, NULL, i / 2, 1, &word, 1) >=
			    0);
	assert_int_equal(symbolize_profile(f.frame_symbols, f.collect, &window, &p, &stats, NULL),
			 0);
	assert_int_equal(profile_n_sample_types(p), 2);
	assert_string_equal(profile_string(p, profile_sample_type(p, 0).type), "sched:x");
	assert_string_equal(profile_string(p, profile_sample_type(p, 1).type), "cpu");
	assert_int_equal(profile_n_samples(p), 1);
	assert_int_equal(profile_sample(p, 0).values[0], 10);
	assert_int_equal(profile_sample(p, 0).values[1], 10000000);
	assert_int_equal(stats.by_event[0], 2);
	assert_int_equal(stats.by_event[1], 1);
	assert_string_equal(profile_string(p, profile_sample(p, 0).labels[3].str), "t-8");
	profile_free(p);
	fixture_fini(&f);
}

static void a_deleted_file_still_has_an_id(void **state)
{
	struct file_ref ref = { .pid = 0x7fffffff, .start = 1, .end = 2, .path = "/no/such/file" };
	struct fixture f;
	uint32_t id;

	fixture_init(&f);
	id = file_table_find(f.files, &ref);
	assert_int_not_equal(id, FILE_ID_NONE);
	assert_int_equal(file_table_get(f.files, id)->fd, -1);
	assert_int_equal(f.unwind_files[id].state, FILE_TABLE_ABSENT);
	assert_null(file_table_get(f.files, id + 1));
	assert_null(file_table_get(f.files, FILE_ID_NONE));
	fixture_fini(&f);
}

static void the_vdso_is_a_file_like_any_other(void **state)
{
	struct fixture f;
	uint32_t id;

	fixture_init(&f);
	id = file_table_vdso(f.files);
	assert_int_not_equal(id, FILE_ID_NONE);
	assert_int_equal(file_table_vdso(f.files), id);
	assert_true(file_table_get(f.files, id)->is_elf);
	fixture_fini(&f);
}

struct got {
	uint64_t n_unwanted;
	size_t n;
	uint64_t n_samples[4];
	uint32_t pid[4];
};

static int on_process(void *ctx, const struct sample_counts_thread *thread,
		      enum symbolize_mode what, struct profile *p)
{
	struct got *got = ctx;

	got->pid[got->n] = thread->pid;
	for (uint32_t i = 0; i < profile_n_samples(p); i++)
		got->n_samples[got->n] += (uint64_t)profile_sample(p, i).values[0];
	got->n++;
	profile_free(p);
	return 0;
}

static bool is_wanted(void *ctx, const struct sample_counts_thread *thread, uint64_t n)
{
	struct got *got = ctx;

	got->n_unwanted += thread->pid == 8 ? n : 0;
	return thread->pid != 8;
}

static void makes_a_profile_of_each_program(void **state)
{
	const struct sample_counts_thread threads[] = {
		{ .pid = 9, .tid = 9 },
		{ .pid = 7, .tid = 8 },
		{ .pid = 7, .tid = 7 },
		{ .pid = 9, .tid = 9, .start_ns = 5 },
	};
	const struct sample_counts_thread unwanted = { .pid = 8, .tid = 8 };
	uint64_t word = FRAME_WORD(FRAME_ADDRESS, 1);
	struct symbolize_window window = { .freq_hz = 19 };
	struct symbolize_stats stats = { 0 };
	struct got got = { 0 };
	const struct symbolize_sink to = { is_wanted, on_process, &got };
	struct symbolize_run *run;
	struct fixture f;
	int r;

	fixture_init(&f);
	assert_true(sample_counts_add(f.collect, &unwanted, 1, &word, 1) >= 0);
	for (int i = 0; i < 8; i++)
		assert_true(sample_counts_add(f.collect, &threads[i % 4], 1, &word, 1) >= 0);
	assert_int_equal(symbolize_run_new(&run, f.frame_symbols, f.collect, &window, &to, &stats),
			 0);
	assert_int_equal(symbolize_run_n_remaining(run), 8);
	assert_int_equal(symbolize_run_step(run), 1);
	assert_int_equal(symbolize_run_n_remaining(run), 4);
	while ((r = symbolize_run_step(run)) > 0)
		continue;
	assert_int_equal(r, 0);
	assert_int_equal(symbolize_run_n_remaining(run), 0);
	symbolize_run_free(run);
	assert_int_equal(got.n_unwanted, 1);
	assert_int_equal(got.n, 3);
	assert_int_equal(got.pid[0], 7);
	assert_int_equal(got.n_samples[0], 4);
	assert_int_equal(got.pid[1], 9);
	assert_int_equal(got.n_samples[1], 2);
	assert_int_equal(got.n_samples[2], 2);
	assert_int_equal(stats.by_kind[PROFILE_FRAME_UNKNOWN][WALK_OK], 8);
	fixture_fini(&f);
}

static uint32_t find_new_file(struct file_table *files, uint64_t i)
{
	static const char text[] = "some text";
	char path[64];
	struct file_ref ref = { .pid = 0x7fffffff, .start = 1, .end = 2, .path = path };
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/tmp/cameo-files.XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(write(fd, &i, sizeof(i)), sizeof(i));
	assert_int_equal(fstat(fd, &st), 0);
	ref.dev_major = major(st.st_dev);
	ref.dev_minor = minor(st.st_dev);
	ref.inode = st.st_ino;
	i = file_table_find(files, &ref);
	unlink(path);
	close(fd);
	return (uint32_t)i;
}

static void files_without_a_mapping_are_dropped(void **state)
{
	struct fixture f;
	uint32_t kept, vdso, last = 0;
	struct rlimit limit;
	uint64_t serial;

	/* the table keeps each file open */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_cur < 2 * FILE_TABLE_SWEEP_ABOVE)
		skip();

	fixture_init(&f);
	vdso = file_table_vdso(f.files);
	kept = find_new_file(f.files, UINT64_MAX);
	serial = file_table_get(f.files, kept)->serial;
	for (uint64_t i = 0; !file_table_needs_sweep(f.files); i++)
		last = find_new_file(f.files, i);
	for (int i = 0; i < 2; i++) {
		assert_non_null(file_table_get(f.files, last));
		file_table_mark(f.files, kept);
		file_table_sweep(f.files, 1);
	}
	assert_null(file_table_get(f.files, last));
	assert_int_equal(file_table_get(f.files, kept)->serial, serial);
	assert_non_null(file_table_get(f.files, vdso));
	assert_int_equal(file_table_n_live(f.files), 2);
	assert_int_equal(file_table_n_forgotten(f.files), FILE_TABLE_SWEEP_ABOVE - 1);
	/* a new file does not get an id that was freed just before */
	assert_true(find_new_file(f.files, 1) > last);
	fixture_fini(&f);
}

TEST_GROUP(test_symbolize, TEST(files_without_a_mapping_are_dropped),
	   TEST(makes_a_profile_of_each_program),
	   TEST(symbolizes_code_and_retains_frames_without_symbols),
	   TEST(stacks_found_by_search_have_a_label),
	   TEST(several_events_are_sample_types_of_one_profile),
	   TEST(a_deleted_file_still_has_an_id), TEST(the_vdso_is_a_file_like_any_other))
