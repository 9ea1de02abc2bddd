/* SPDX-License-Identifier: Apache-2.0 */
/* The programs of languages in this kernel: which are loaded when, and what they contain. */
#include "sampler/walk_programs.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/err.h"
#include "bpf/sample.skel.h"
#include "bpf/shared/abi.h"
#include "sampler/attach.h"
#include "sampler/fault_probe.h"
#include "sampler/sched_probe.h"
#include "tests/test.h"

#define LIMIT_NS (120 * 1000000000ULL)

enum {
	PYTHON = 1 << LANG_PYTHON,
	PERL = 1 << LANG_PERL,
	V8 = 1 << LANG_V8,
	JVM = 1 << LANG_JVM,
};

struct fixture {
	struct sample_bpf *skel;
	struct walk_programs *programs;
};

/* Loads the object as the sampler does, or skips the test where the kernel does not permit that. */
static struct fixture load(const struct sampler_opts *opts, bool with_lists)
{
	struct fixture f = { .skel = sample_bpf__open() };
	struct err err = { 0 };

	assert_non_null(f.skel);
	bpf_map__set_max_entries(f.skel->maps.ring, 4096);
	attach_prepare(f.skel, opts, 1);
	fault_probe_prepare(f.skel, opts);
	assert_int_equal(sched_probe_prepare(f.skel, opts, 0, &err), 0);
	walk_programs_prepare(f.skel, with_lists);
	if (access("/sys/kernel/btf/vmlinux", R_OK) < 0 || sample_bpf__load(f.skel) < 0) {
		sample_bpf__destroy(f.skel);
		skip();
	}
	assert_int_equal(walk_programs_new(&f.programs, f.skel, &err), 0);
	return f;
}

static struct fixture start_with(const struct sampler_opts *opts)
{
	return load(opts, true);
}

static struct fixture start(void)
{
	return start_with(&(struct sampler_opts){ .freq_hz = 99 });
}

static void end(struct fixture *f)
{
	walk_programs_free(f->programs);
	sample_bpf__destroy(f->skel);
}

static struct walk_programs_stats wait_for_all(struct fixture *f)
{
	const uint64_t until = clock_monotonic_ns() + LIMIT_NS;
	struct walk_programs_stats st;

	do {
		usleep(1000);
		walk_programs_stats(f->programs, &st);
	} while (st.n_waiting && clock_monotonic_ns() < until);
	assert_int_equal(st.n_waiting, 0);
	return st;
}

/* Bytes of the program at @i of an array; 0 if there is none. */
static uint32_t program_bytes(const struct bpf_map *array, uint32_t i)
{
	struct bpf_prog_info info = { 0 };
	uint32_t id = 0, len = sizeof(info);
	int fd;

	if (bpf_map__lookup_elem(array, &i, sizeof(i), &id, sizeof(id), 0) < 0)
		return 0;
	fd = bpf_prog_get_fd_by_id(id);
	assert_true(fd >= 0);
	assert_int_equal(bpf_obj_get_info_by_fd(fd, &info, &len), 0);
	close(fd);
	return info.xlated_prog_len;
}

static uint32_t n_programs(const struct bpf_map *array)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < WALK_PROGRAMS_MAX; i++)
		n += program_bytes(array, i) > 0;
	return n;
}

static void a_walk_of_a_language_is_loaded_when_it_is_requested(void **state)
{
	struct fixture f = start();
	uint16_t walk, lists;

	assert_int_equal(n_programs(f.skel->maps.sample_walks), 1);
	walk_programs_request(f.programs, 0, &walk, &lists);
	assert_int_equal(walk, 0);
	assert_int_equal(lists, 0);
	assert_int_equal(wait_for_all(&f).n_loaded, 1); /* lists */
	assert_int_equal(n_programs(f.skel->maps.sample_walks), 1);
	/* other kinds of samples are not taken */
	assert_int_equal(n_programs(f.skel->maps.tracepoint_walks), 0);
	assert_int_equal(n_programs(f.skel->maps.tracepoint_lists), 0);
	end(&f);
}

static void lists_are_loaded_at_the_start(void **state)
{
	struct fixture f = start();
	uint16_t walk, lists, others;

	walk_programs_request(f.programs, PYTHON, &walk, &lists);
	/* the walk does not depend on languages whose frames are in lists */
	assert_int_equal(walk, 0);
	assert_true(program_bytes(f.skel->maps.sample_lists, lists));
	walk_programs_request(f.programs, PERL | V8, &walk, &others);
	assert_int_equal(others, lists);
	assert_int_equal(n_programs(f.skel->maps.sample_lists), 1);
	end(&f);
}

/* As on a kernel that refuses them. */
static void without_lists_the_walks_work(void **state)
{
	struct fixture f = load(&(struct sampler_opts){ .freq_hz = 99 }, false);
	struct walk_programs_stats st = wait_for_all(&f);

	assert_int_equal(st.n_loaded, 0);
	assert_int_equal(st.n_refused, 1);
	assert_int_equal(n_programs(f.skel->maps.sample_walks), 1);
	assert_int_equal(n_programs(f.skel->maps.sample_lists), 0);
	end(&f);
}

static void a_walk_has_the_languages_of_its_set(void **state)
{
	struct fixture f = start();
	struct walk_programs_stats st;
	uint16_t walk, lists, walk_both;

	walk_programs_request(f.programs, PYTHON | V8, &walk, &lists);
	walk_programs_request(f.programs, PYTHON | PERL | V8 | JVM, &walk_both, &lists);
	assert_int_not_equal(walk, 0);
	assert_int_not_equal(walk_both, walk);
	st = wait_for_all(&f);
	assert_int_equal(st.n_loaded, 3);
	assert_int_equal(st.n_refused, 0);
	assert_true(st.load_ns > 0);
	assert_true(program_bytes(f.skel->maps.sample_walks, walk) >
		    program_bytes(f.skel->maps.sample_walks, 0));
	assert_true(program_bytes(f.skel->maps.sample_walks, walk_both) >
		    program_bytes(f.skel->maps.sample_walks, walk));
	end(&f);
}

static void page_faults_have_programs_of_their_own(void **state)
{
	struct fixture f = start_with(
		&(struct sampler_opts){ .freq_hz = 99, .faults = true, .no_samples = true });
	uint16_t walk, lists;

	assert_int_equal(n_programs(f.skel->maps.fault_walks), 1);
	assert_int_equal(n_programs(f.skel->maps.sample_walks), 0);
	walk_programs_request(f.programs, PYTHON | V8, &walk, &lists);
	assert_int_equal(wait_for_all(&f).n_refused, 0);
	assert_true(program_bytes(f.skel->maps.fault_walks, walk) >
		    program_bytes(f.skel->maps.fault_walks, 0));
	assert_true(program_bytes(f.skel->maps.fault_lists, lists) > 0);
	end(&f);
}

static void a_set_is_loaded_once(void **state)
{
	struct fixture f = start();
	uint16_t walk, again, lists;

	walk_programs_request(f.programs, V8, &walk, &lists);
	walk_programs_wait(f.programs, LIMIT_NS);
	assert_true(program_bytes(f.skel->maps.sample_walks, walk));
	walk_programs_request(f.programs, PYTHON | V8, &again, &lists);
	assert_int_equal(again, walk);
	assert_int_equal(wait_for_all(&f).n_loaded, 2);
	end(&f);
}

static void a_wait_ends_at_its_limit(void **state)
{
	struct fixture f = start();
	uint16_t walk, lists;

	walk_programs_wait(f.programs, LIMIT_NS); /* nothing is requested */
	walk_programs_request(f.programs, JVM, &walk, &lists);
	walk_programs_wait(f.programs, 0);
	end(&f);
}

static void the_end_does_not_wait_for_all_requests(void **state)
{
	struct fixture f = start();
	uint16_t walk, lists;

	for (uint32_t i = 1; i < LANG_MAX; i++)
		walk_programs_request(f.programs, 1U << i, &walk, &lists);
	end(&f);
}

static void the_programs_use_the_maps_of_the_first(void **state)
{
	struct fixture f = start();
	struct bpf_prog_info info = { 0 };
	uint32_t id = 0, len = sizeof(info), ids[64] = { 0 }, key;
	struct bpf_map_info counts = { 0 };
	uint32_t counts_len = sizeof(counts);
	uint16_t walk, lists;
	bool found = false;
	int fd;

	walk_programs_request(f.programs, PYTHON, &walk, &lists);
	(void)wait_for_all(&f);
	key = lists;
	assert_int_equal(bpf_map__lookup_elem(f.skel->maps.sample_lists, &key, sizeof(key), &id,
					      sizeof(id), 0),
			 0);
	fd = bpf_prog_get_fd_by_id(id);
	assert_true(fd >= 0);
	info.nr_map_ids = 64;
	info.map_ids = (uint64_t)(uintptr_t)ids;
	assert_int_equal(bpf_obj_get_info_by_fd(fd, &info, &len), 0);
	assert_int_equal(
		bpf_obj_get_info_by_fd(bpf_map__fd(f.skel->maps.counts), &counts, &counts_len), 0);
	for (uint32_t i = 0; i < info.nr_map_ids; i++)
		found |= ids[i] == counts.id;
	assert_true(found);
	close(fd);
	end(&f);
}

TEST_GROUP(test_walk_programs, TEST(a_walk_of_a_language_is_loaded_when_it_is_requested),
	   TEST(lists_are_loaded_at_the_start), TEST(without_lists_the_walks_work),
	   TEST(a_walk_has_the_languages_of_its_set), TEST(page_faults_have_programs_of_their_own),
	   TEST(a_set_is_loaded_once), TEST(a_wait_ends_at_its_limit),
	   TEST(the_end_does_not_wait_for_all_requests),
	   TEST(the_programs_use_the_maps_of_the_first))
