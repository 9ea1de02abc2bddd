/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/debuglink.h"

#include <errno.h>
#include <string.h>

#include "tests/test.h"
#include "tests/unit/elf/fixture.h"

static int link_of(const void *data, size_t len, struct elf_debuglink *out)
{
	struct fixture f;
	int r;

	fixture_init(&f);
	fixture_add(&f, ".gnu_debuglink", SHT_PROGBITS, data, len);
	r = elf_debuglink(fixture_open(&f), out);
	fixture_fini(&f);
	return r;
}

static void reads_a_name_of_any_alignment_and_its_crc(void **state)
{
	struct elf_debuglink link;

	assert_int_equal(link_of("abc\0\x78\x56\x34\x12", 8, &link), 0);
	assert_string_equal(link.name, "abc");
	assert_int_equal(link.crc, 0x12345678);
	assert_int_equal(link_of("abcd\0\0\0\0\x01\0\0\0", 12, &link), 0);
	assert_string_equal(link.name, "abcd");
	assert_int_equal(link.crc, 1);
}

static void refuses_links_without_end_or_crc(void **state)
{
	static const char link[] = "abcd\0\0\0\0\x01\0\0";
	struct elf_debuglink out;

	for (size_t len = 0; len < sizeof(link); len++)
		assert_int_equal(link_of(link, len, &out), -EBADMSG);
	assert_int_equal(link_of("\0\0\0\0\1\2\3\4", 8, &out), -EBADMSG);
}

static void refuses_names_that_lead_elsewhere(void **state)
{
	struct elf_debuglink out;
	char name[ELF_DEBUGLINK_NAME_MAX + 8];

	assert_int_equal(link_of("../passwd\0\0\0\1\2\3\4", 16, &out), -EBADMSG);
	assert_int_equal(link_of("/x\0\0\1\2\3\4", 8, &out), -EBADMSG);
	assert_int_equal(link_of("..\0\0\1\2\3\4", 8, &out), -EBADMSG);
	memset(name, 'x', sizeof(name));
	memset(name + ELF_DEBUGLINK_NAME_MAX, 0, 8);
	assert_int_equal(link_of(name, sizeof(name), &out), -EBADMSG);
}

static void a_file_without_a_link_is_enoent(void **state)
{
	struct elf_debuglink link;
	struct fixture f;

	fixture_init(&f);
	fixture_open(&f);
	assert_int_equal(elf_debuglink(f.img, &link), -ENOENT);
	fixture_fini(&f);
}

TEST_GROUP(test_debuglink, TEST(reads_a_name_of_any_alignment_and_its_crc),
	   TEST(refuses_links_without_end_or_crc), TEST(refuses_names_that_lead_elsewhere),
	   TEST(a_file_without_a_link_is_enoent))
