/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/capture/capture.c replays captures of real processes. This file replays core files
 * written by hand, whose files are missing, other ones, or false.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "capture/capture.h"
#include "capture/core.h"
#include "capture/process_pages.h"
#include "elf/image.h"
#include "tests/test.h"

enum { CODE = 0x10000000, CODE_LEN = 0x10000, WORDS = 64 };

static uint64_t stack[WORDS] __attribute__((aligned(4096)));

/* Writes a core whose two frames are in the file @f, linked by frame pointers. */
static void write_core(struct buf *out, const struct core_file *f, const char *trace)
{
	_cleanup_(process_pages_freep) struct process_pages *pages = NULL;
	struct core_region region = { .start = CODE, .end = CODE + CODE_LEN };
	struct core c = { .pid = 42, .trace = trace, .trace_len = trace ? strlen(trace) : 0 };
	uint64_t word;

	memset(stack, 0, sizeof(stack));
	stack[4] = (uintptr_t)&stack[8];
	stack[5] = CODE + 0x100;
	stack[9] = CODE + 0x200;
	c.regs[UREG_PC] = CODE + 0x10;
	c.regs[UREG_SP] = (uintptr_t)stack;
	c.regs[UREG_FP] = (uintptr_t)&stack[4];
	assert_int_equal(vec_push(&c.files, *f), 0);
	assert_int_equal(vec_push(&c.regions, region), 0);
	assert_int_equal(process_pages_new(&pages, getpid()), 0);
	for (size_t i = 0; i < WORDS; i++)
		assert_int_equal(process_pages_read(pages, (uintptr_t)&stack[i], &word, 8), 0);
	process_pages_scrub(pages);
	core_write(out, &c, pages);
	assert_int_equal(buf_error(out), 0);
	vec_fini(&c.regions);
	vec_fini(&c.files);
}

struct replayed {
	struct capture_replay r;
	struct buf trace, expected;
};

static void replay(const struct core_file *f, const char *trace, struct replayed *out)
{
	struct buf core = { 0 };
	struct err err = { 0 };

	*out = (struct replayed){ 0 };
	write_core(&core, f, trace);
	assert_int_equal(
		capture_replay(core.data, core.len, &out->trace, &out->expected, &out->r, &err), 0);
	buf_put_byte(&out->trace, '\0');
	buf_put_byte(&out->expected, '\0');
	assert_non_null(strstr((const char *)out->trace.data, "#1"));
	buf_fini(&core);
}

static void release(struct replayed *r)
{
	buf_fini(&r->trace);
	buf_fini(&r->expected);
}

static void check(const struct core_file *f, size_t n_missing, size_t n_partial)
{
	struct replayed r;

	replay(f, NULL, &r);
	assert_int_equal(r.r.n_missing, n_missing);
	assert_int_equal(r.r.n_partial, n_partial);
	assert_false(r.r.has_expected);
	assert_false(r.r.differs);
	assert_non_null(strstr((const char *)r.trace.data, f->path));
	release(&r);
}

static void the_trace_is_compared_with_that_of_the_capture(void **state)
{
	const struct core_file f = { .path = "/nonexistent/app", .size = 100 };
	struct replayed first, again, other;

	replay(&f, NULL, &first);
	replay(&f, (const char *)first.trace.data, &again);
	assert_true(again.r.has_expected);
	assert_false(again.r.differs);
	assert_string_equal(again.expected.data, "");
	replay(&f, "another\x1b[2J\n\ntrace", &other);
	assert_true(other.r.differs);
	/* the file may hold anything, which must not control the terminal */
	assert_string_equal(other.expected.data, "another [2J\n\ntrace\n");
	assert_string_equal(other.trace.data, first.trace.data);
	release(&first);
	release(&again);
	release(&other);
}

static void a_file_of_another_size_or_build_id_is_missing(void **state)
{
	struct core_file f = { .path = "/proc/self/exe" };
	struct elf_image *self;
	struct stat st;
	char path[256];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	FILE *file;

	assert_true(n > 0);
	path[n] = '\0';
	f.path = path;
	assert_int_equal(stat(path, &st), 0);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(elf_image_open(&self, fileno(file), NULL), 0);
	elf_note_gnu_build_id(self, &f.build_id);
	elf_image_free(self);
	fclose(file);
	check(&f, 0, 0); /* The size is unknown, as in the core of another program. */
	f.size = (uint64_t)st.st_size;
	check(&f, 0, 0);
	f.size++;
	check(&f, 1, 0);
	f.size--;
	f.build_id.bytes[0] ^= 1;
	f.build_id.len = f.build_id.len ? f.build_id.len : 1;
	check(&f, 1, 0);
}

static void files_that_are_not_regular_are_missing(void **state)
{
	static const char *const paths[] = { "/dev/zero", "/", "/nonexistent", "relative", "" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		const struct core_file f = { .path = paths[i], .size = 4096 };

		check(&f, 1, 0);
	}
}

static void parts_stand_for_a_missing_file(void **state)
{
	static const uint8_t bytes[100];
	static const struct {
		uint64_t size, off, len;
		size_t n_missing, n_partial;
	} cases[] = {
		{ 100, 0, 100, 0, 0 },
		{ 100, 50, 50, 0, 1 },
		{ 1 << 20, 1000, 100, 0, 1 },
		{ CORE_FILE_BYTES_MAX, 0, 100, 0, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct core_file f = { .path = "/nonexistent/app", .size = cases[i].size };

		assert_int_equal(
			vec_push(&f.parts, (struct core_part){ cases[i].off, bytes, cases[i].len }),
			0);
		check(&f, cases[i].n_missing, cases[i].n_partial);
		vec_fini(&f.parts);
	}
}

/* A part may lie outside of its file. */
static void parts_outside_of_their_file_do_no_harm(void **state)
{
	static const uint64_t offsets[] = { 50, 100, 1ULL << 40, INT64_MAX, UINT64_MAX - 99 };
	static const uint8_t bytes[100];

	for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++) {
		struct buf core = { 0 }, trace = { 0 }, expected = { 0 };
		struct core_file f = { .path = "/nonexistent/app", .size = 100 };
		struct capture_replay out;
		int r;

		assert_int_equal(
			vec_push(&f.parts, (struct core_part){ offsets[i], bytes, sizeof(bytes) }),
			0);
		write_core(&core, &f, NULL);
		r = capture_replay(core.data, core.len, &trace, &expected, &out, NULL);
		assert_true(r == 0 || r == -EBADMSG);
		vec_fini(&f.parts);
		buf_fini(&core);
		buf_fini(&trace);
		buf_fini(&expected);
	}
}

TEST_GROUP(test_replay, TEST(the_trace_is_compared_with_that_of_the_capture),
	   TEST(a_file_of_another_size_or_build_id_is_missing),
	   TEST(files_that_are_not_regular_are_missing), TEST(parts_stand_for_a_missing_file),
	   TEST(parts_outside_of_their_file_do_no_harm))
