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
	assert_int_equal(parse(&py, 15, t), -ENOENT);
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
	   TEST(a_truncated_table_is_refused), TEST(offsets_outside_of_their_structure_are_refused))
