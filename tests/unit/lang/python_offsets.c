/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "lang/python/python.h"
#include "tests/test.h"

enum { WORDS = 80, INTERP = 5, THREAD = 18, FRAME = 27, CODE = 33, OBJECT = 43 };

/* Makes a table of 3.13: groups of a size and offsets. */
static void make_table(uint64_t t[WORDS])
{
	memset(t, 0, WORDS * sizeof(*t));
	memcpy(t, "xdebugpy", 8);
	t[1] = 0x030d05f0;
	t[3] = 4096; /* size of the runtime */
	t[5] = 632;  /* offset of the interpreters */
	for (size_t i = 6; i < WORDS; i++)
		t[i] = 8 * (i % 10);
	t[INTERP] = 632;
	t[THREAD] = t[FRAME] = t[CODE] = 1000;
	t[OBJECT] = 16;
}

static int parse(struct python_vm *out, unsigned int minor, const uint64_t t[WORDS])
{
	return python_offsets(out, minor, 0x1000, (const uint8_t *)t, WORDS * sizeof(*t));
}

static void versions_without_a_table_are_known(void **state)
{
	struct python_vm py;

	(void)state;
	for (unsigned int minor = 6; minor <= 12; minor++) {
		assert_int_equal(python_offsets(&py, minor, 0x1000, NULL, 0), 0);
		assert_int_equal(py.minor, minor);
		assert_true(py.interp_head >= 0x1000);
		assert_true(py.frame_bytes <= VM_FRAME_BYTES);
		assert_true(py.thread_id && py.thread_frame && py.code_lines);
		assert_int_equal(py.entry == PYTHON_ENTRY_SHIM, py.frame_object && py.object_link);
	}
}

static void unknown_versions_are_refused(void **state)
{
	struct python_vm py;
	uint64_t t[WORDS];

	(void)state;
	make_table(t);
	assert_int_equal(parse(&py, 5, t), -ENOENT);
	assert_int_equal(parse(&py, 0, t), -ENOENT);
	assert_int_equal(parse(&py, 16, t), -ENOENT);
	assert_int_equal(parse(&py, UINT32_MAX, t), -ENOENT);
}

static void a_table_of_another_version_is_refused(void **state)
{
	struct python_vm py;
	uint64_t t[WORDS];

	(void)state;
	make_table(t);
	assert_int_equal(parse(&py, 14, t), -EBADMSG);
	t[0]++;
	assert_int_equal(parse(&py, 13, t), -EBADMSG);
}

/* The table of Debian's python3.15 3.15.2-1, up to its type objects. */
static void the_fields_of_3_15_are_found(void **state)
{
	static const uint64_t t[WORDS] = {
		0,    0x030f02f0, 0,    0x549c8, 912,  936, 0x373c0, 7272, 7264, 7336, 7352, 7400,
		7592, 7576,       7584, 16,      7736, 0,   7752,    7744, 7944, 0,    888,  0,
		8,    16,         72,   80,      88,   96,  176,     184,  256,  32,   36,   40,
		136,  288,        0,    88,      8,    0,   56,      80,   74,   64,   0,    216,
		112,  120,        128,  136,     68,   52,  96,      104,  208,  0,    16,   8,
	};
	uint64_t words[WORDS];
	struct python_vm py;

	(void)state;
	memcpy(words, t, sizeof(t));
	memcpy(words, "xdebugpy", 8);
	assert_int_equal(parse(&py, 15, words), 0);
	assert_int_equal(py.interp_head, 0x1000 + 936);
	assert_int_equal(py.interp_threads, 7336);
	assert_int_equal(py.thread_frame, 72);
	assert_int_equal(py.thread_id, 176);
	assert_int_equal(py.frame_back, 8);
	assert_int_equal(py.frame_place, 56);
	assert_int_equal(py.frame_owner, 74);
	assert_int_equal(py.code_qualname, 128);
	assert_int_equal(py.code_first_line, 68);
	assert_int_equal(py.code_bytecode, 208);
	assert_int_equal(py.object, 16);
}

static void a_truncated_table_is_refused(void **state)
{
	struct python_vm py;
	uint64_t t[WORDS];

	(void)state;
	make_table(t);
	for (size_t len = 0; len < 40 * 8; len += 8)
		assert_int_equal(python_offsets(&py, 13, 0, (const uint8_t *)t, len), -EBADMSG);
}

static void offsets_outside_of_their_structure_are_refused(void **state)
{
	struct python_vm py;
	uint64_t t[WORDS];

	(void)state;
	make_table(t);
	t[5] = 5000; /* beyond the runtime */
	assert_int_equal(parse(&py, 13, t), -EBADMSG);
	make_table(t);
	t[OBJECT] = 4096;
	assert_int_equal(parse(&py, 13, t), -EBADMSG);
}

TEST_GROUP(test_python_offsets, TEST(versions_without_a_table_are_known),
	   TEST(unknown_versions_are_refused), TEST(a_table_of_another_version_is_refused),
	   TEST(the_fields_of_3_15_are_found), TEST(a_truncated_table_is_refused),
	   TEST(offsets_outside_of_their_structure_are_refused))
