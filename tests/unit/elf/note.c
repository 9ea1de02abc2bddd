/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/note.h"

#include <string.h>

#include "tests/test.h"
#include "tests/unit/elf/fixture.h"

static void put_note(struct buf *b, const char *name, uint32_t name_len, uint32_t type,
		     const void *desc, uint32_t desc_len)
{
	const Elf64_Nhdr nh = { name_len, desc_len, type };

	buf_put(b, &nh, sizeof(nh));
	buf_put(b, name, name_len);
	while (b->len % 4)
		buf_put_byte(b, 0);
	buf_put(b, desc, desc_len);
	while (b->len % 4)
		buf_put_byte(b, 0);
}

/* Reads the build id of a file whose only notes are @len bytes at @notes. */
static struct elf_build_id build_id_of(const void *notes, size_t len)
{
	struct elf_build_id id;
	struct fixture f;

	fixture_init(&f);
	fixture_add(&f, ".note", SHT_NOTE, notes, len);
	elf_note_gnu_build_id(fixture_open(&f), &id);
	fixture_fini(&f);
	return id;
}

static void finds_the_build_id_behind_other_notes(void **state)
{
	struct buf b = { 0 };
	struct elf_build_id id;

	put_note(&b, "GNU", 4, NT_GNU_ABI_TAG, "12345", 5);
	put_note(&b, "stapsdt", 8, NT_GNU_BUILD_ID, "no", 2);
	put_note(&b, "GNU", 4, NT_GNU_BUILD_ID, "\x01\xfe\x30", 3);
	put_note(&b, "GNU", 4, NT_GNU_BUILD_ID, "second", 6);
	id = build_id_of(b.data, b.len);
	assert_int_equal(id.len, 3);
	assert_memory_equal(id.bytes, "\x01\xfe\x30", 3);
	buf_fini(&b);
}

static void no_prefix_of_a_note_is_taken_for_one(void **state)
{
	struct buf b = { 0 };

	put_note(&b, "GNU", 4, NT_GNU_BUILD_ID, "12345678", 8);
	for (size_t len = 0; len < b.len; len++)
		assert_int_equal(build_id_of(b.data, len).len, 0);
	assert_int_equal(build_id_of(b.data, b.len).len, 8);
	buf_fini(&b);
}

static void false_sizes_yield_no_build_id(void **state)
{
	static const Elf64_Nhdr bad[] = {
		{ UINT32_MAX, 4, NT_GNU_BUILD_ID },
		{ 4, UINT32_MAX, NT_GNU_BUILD_ID },
		{ UINT32_MAX, UINT32_MAX, NT_GNU_BUILD_ID },
	};
	struct buf b = { 0 };
	uint8_t long_id[ELF_BUILD_ID_MAX + 1] = { 0 };

	for (size_t i = 0; i < 3; i++)
		assert_int_equal(build_id_of(&bad[i], sizeof(bad[i])).len, 0);
	put_note(&b, "GNU", 4, NT_GNU_BUILD_ID, long_id, sizeof(long_id));
	assert_int_equal(build_id_of(b.data, b.len).len, 0);
	buf_fini(&b);
}

static void prints_hex_digits(void **state)
{
	const struct elf_build_id id = { 3, { 0x00, 0x9a, 0xff } };
	char hex[2 * 3 + 1];

	elf_build_id_hex(&id, hex);
	assert_string_equal(hex, "009aff");
}

TEST_GROUP(test_note, TEST(finds_the_build_id_behind_other_notes),
	   TEST(no_prefix_of_a_note_is_taken_for_one), TEST(false_sizes_yield_no_build_id),
	   TEST(prints_hex_digits))
