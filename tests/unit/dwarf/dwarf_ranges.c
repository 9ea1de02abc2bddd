/* SPDX-License-Identifier: Apache-2.0 */
#include "dwarf/dwarf_ranges.h"

#include <dwarf.h>
#include <errno.h>

#include "tests/test.h"
#include "tests/unit/dwarf/fixture.h"

enum { ID = 7, LOW_PC = 0x10000 };

/* Returns a unit with this version, whose base address is LOW_PC. */
static struct dwarf_unit *unit_of(struct dwarf_fixture *f, uint16_t version)
{
	struct dwarf_unit *u;

	f->s[DWARF_INFO].len = 0;
	end_unit(f, begin_unit(f, version, 0));
	u = dwarf_fixture_unit(f);
	u->low_pc = LOW_PC;
	return u;
}

static int add_list(const struct dwarf_unit *u, enum dwarf_class class, uint64_t v,
		    struct interval_list *out)
{
	const struct dwarf_value ranges = { .class = class, .u = v };
	struct dwarf_pcs p = { 0 };

	dwarf_pcs_set(&p, DW_AT_ranges, &ranges);
	return dwarf_ranges_add(u, &p, ID, out);
}

/* Compares the ranges with pairs of addresses that end with a pair of zeros. */
static void check(struct interval_list *got, const uint64_t *want)
{
	size_t n = 0;

	for (; want[0]; want += 2, n++) {
		assert_true(n < got->len);
		assert_int_equal(got->data[n].lo, want[0]);
		assert_int_equal(got->data[n].hi, want[1]);
		assert_int_equal(got->data[n].id, ID);
	}
	assert_int_equal(got->len, n);
	vec_fini(got);
}

#define CHECK(got, ...) check((got), (const uint64_t[]){ __VA_ARGS__, 0, 0 })

static void add_pcs(const struct dwarf_unit *u, uint64_t low, uint64_t high, enum dwarf_class class,
		    struct interval_list *out)
{
	const struct dwarf_value l = { .class = DWARF_ADDRESS, .u = low };
	const struct dwarf_value h = { .class = class, .u = high };
	struct dwarf_pcs p = { 0 };

	dwarf_pcs_set(&p, DW_AT_low_pc, &l);
	dwarf_pcs_set(&p, DW_AT_high_pc, &h);
	assert_int_equal(dwarf_ranges_add(u, &p, ID, out), 0);
}

static void high_pc_is_an_address_or_a_length(void **state)
{
	const struct dwarf_unit *u = unit_of(*state, 4);
	struct interval_list got = { 0 };

	add_pcs(u, 0x2000, 0x2010, DWARF_ADDRESS, &got);
	add_pcs(u, 0x3000, 0x20, DWARF_UINT, &got);
	add_pcs(u, 0x4000, 0x30, DWARF_SINT, &got);
	CHECK(&got, 0x2000, 0x2010, 0x3000, 0x3020, 0x4000, 0x4030);
}

static void empty_reversed_and_discarded_ranges_are_omitted(void **state)
{
	const struct dwarf_unit *u = unit_of(*state, 4);
	struct interval_list got = { 0 };

	add_pcs(u, 0x2000, 0x2000, DWARF_ADDRESS, &got);
	add_pcs(u, 0x2000, 0x1000, DWARF_ADDRESS, &got);
	add_pcs(u, 0x2000, 0, DWARF_UINT, &got);
	add_pcs(u, 0x2000, UINT64_MAX - 0x1000, DWARF_UINT, &got); /* wraps */
	add_pcs(u, 0, 0x100, DWARF_UINT, &got);
	add_pcs(u, 1, 0x100, DWARF_UINT, &got);
	add_pcs(u, UINT64_MAX, 0x100, DWARF_UINT, &got);
	assert_int_equal(got.len, 0);
	vec_fini(&got);
}

static void a_die_without_both_addresses_has_no_range(void **state)
{
	const struct dwarf_unit *u = unit_of(*state, 4);
	const struct dwarf_value low = { .class = DWARF_ADDRESS, .u = 0x1000 }, none = { 0 };
	struct interval_list got = { 0 };
	struct dwarf_pcs p = { 0 };

	assert_int_equal(dwarf_ranges_add(u, &p, ID, &got), 0);
	dwarf_pcs_set(&p, DW_AT_low_pc, &low);
	dwarf_pcs_set(&p, DW_AT_high_pc, &none);
	dwarf_pcs_set(&p, DW_AT_ranges, &none);
	dwarf_pcs_set(&p, DW_AT_entry_pc, &low);
	assert_int_equal(dwarf_ranges_add(u, &p, ID, &got), 0);
	assert_int_equal(got.len, 0);
	vec_fini(&got);
}

static void put_pair(struct dwarf_fixture *f, uint64_t a, uint64_t b)
{
	put_uint(&f->s[DWARF_RANGES], a, 8);
	put_uint(&f->s[DWARF_RANGES], b, 8);
}

static void version_4_lists_have_pairs_relative_to_a_base(void **state)
{
	struct dwarf_fixture *f = *state;
	struct interval_list got = { 0 };
	struct dwarf_unit *u;

	put_pair(f, 9, 9); /* another list ends before this one */
	put_pair(f, 0, 0);
	put_pair(f, 0x10, 0x20);
	put_pair(f, UINT64_MAX, 0x50000);
	put_pair(f, 0x10, 0x20);
	put_pair(f, 0x30, 0x30);
	put_pair(f, UINT64_MAX, 0);
	put_pair(f, 0x70000, 0x70001);
	put_pair(f, 1, 1);
	put_pair(f, 0, 0);
	put_pair(f, 0x90000, 0x90001);
	u = unit_of(f, 4);
	assert_int_equal(add_list(u, DWARF_SECTION_OFFSET, 32, &got), 0);
	CHECK(&got, LOW_PC + 0x10, LOW_PC + 0x20, 0x50010, 0x50020, 0x70000, 0x70001);
	u->gnu_ranges_base = 32;
	assert_int_equal(add_list(u, DWARF_SECTION_OFFSET, 0, &got), 0);
	assert_int_equal(got.len, 3);
	vec_fini(&got);
}

static void version_3_lists_may_have_addresses_of_4_bytes(void **state)
{
	struct dwarf_fixture *f = *state;
	static const uint32_t words[] = { UINT32_MAX, 0x5000, 0x10, 0x20, 0, 0 };
	struct interval_list got = { 0 };
	struct dwarf_unit *u;

	buf_put(&f->s[DWARF_RANGES], words, sizeof(words));
	u = unit_of(f, 3);
	u->addr_len = 4;
	assert_int_equal(add_list(u, DWARF_SECTION_OFFSET, 0, &got), 0);
	CHECK(&got, 0x5010, 0x5020);
}

/* One entry of each kind in .debug_rnglists; the table of addresses has 0x8000 and 0x9000. */
static void put_rnglist(struct dwarf_fixture *f)
{
	struct buf *b = &f->s[DWARF_RNGLISTS];

	put_uint(&f->s[DWARF_ADDR], 0x8000, 8);
	put_uint(&f->s[DWARF_ADDR], 0x9000, 8);
	PUT(b, DW_RLE_offset_pair, 0x10, 0x20);
	PUT(b, DW_RLE_base_address);
	put_uint(b, 0x20000, 8);
	PUT(b, DW_RLE_offset_pair, 0x10, 0xa0, 0x01);
	PUT(b, DW_RLE_base_addressx, 1);
	PUT(b, DW_RLE_offset_pair, 1, 2);
	PUT(b, DW_RLE_startx_endx, 0, 1);
	PUT(b, DW_RLE_startx_length, 1, 5);
	PUT(b, DW_RLE_start_end);
	put_uint(b, 0x3000, 8);
	put_uint(b, 0x3001, 8);
	PUT(b, DW_RLE_start_length);
	put_uint(b, 0x4000, 8);
	PUT(b, 0x80, 0x01);
	PUT(b, DW_RLE_end_of_list);
}

static const uint64_t rnglist[] = { LOW_PC + 0x10, LOW_PC + 0x20, 0x20010, 0x200a0, 0x9001, 0x9002,
				    0x8000,        0x9000,        0x9000,  0x9005,  0x3000, 0x3001,
				    0x4000,        0x4080,        0,       0 };

static void version_5_lists_have_entries_of_seven_kinds(void **state)
{
	struct dwarf_fixture *f = *state;
	struct interval_list got = { 0 };

	put_rnglist(f);
	assert_int_equal(add_list(unit_of(f, 5), DWARF_SECTION_OFFSET, 0, &got), 0);
	check(&got, rnglist);
}

/* Cuts the list at each byte: what comes before is kept, and the end is reported as missing. */
static void a_truncated_list_has_the_ranges_before_the_end(void **state)
{
	struct dwarf_fixture *f = *state;
	size_t whole, before = 0;

	put_rnglist(f);
	whole = f->s[DWARF_RNGLISTS].len;
	for (size_t len = 0; len < whole; len++) {
		struct interval_list got = { 0 };

		f->s[DWARF_RNGLISTS].len = len;
		assert_int_equal(add_list(unit_of(f, 5), DWARF_SECTION_OFFSET, 0, &got), -EBADMSG);
		assert_true(got.len >= before && got.len <= before + 1);
		before = got.len;
		for (size_t i = 0; i < got.len; i++)
			assert_int_equal(got.data[i].lo, rnglist[2 * i]);
		vec_fini(&got);
	}
	assert_int_equal(before, 7);
}

static void a_list_by_index_is_relative_to_the_base(void **state)
{
	struct dwarf_fixture *f = *state;
	struct interval_list got = { 0 };
	struct buf *b = &f->s[DWARF_RNGLISTS];
	struct dwarf_unit *u;

	put_uint(b, 0xee, 3); /* the header */
	put_uint(b, 9, 4);
	put_uint(b, 8, 4);
	PUT(b, DW_RLE_end_of_list, DW_RLE_offset_pair, 1, 2, DW_RLE_end_of_list);
	u = unit_of(f, 5);
	u->rnglists_base = 3;
	assert_int_equal(add_list(u, DWARF_RANGE_INDEX, 0, &got), 0);
	CHECK(&got, LOW_PC + 1, LOW_PC + 2);
	assert_int_equal(add_list(u, DWARF_RANGE_INDEX, 1, &got), 0);
	assert_int_equal(got.len, 0);
	assert_int_equal(add_list(u, DWARF_RANGE_INDEX, 1000, &got), -EBADMSG);
	assert_int_equal(add_list(u, DWARF_RANGE_INDEX, UINT64_MAX / 4, &got), -EBADMSG);
	u->rnglists_base = UINT64_MAX - 1;
	assert_int_equal(add_list(u, DWARF_RANGE_INDEX, 0, &got), -EBADMSG);
	assert_int_equal(got.len, 0);
	vec_fini(&got);
}

static void hostile_entries_are_refused(void **state)
{
	static const uint8_t entries[][12] = {
		{ 8 },
		{ 0xff },
		{ DW_RLE_startx_endx, 0, 77, 0 },
		{ DW_RLE_startx_length, 77, 1, 0 },
		{ DW_RLE_base_addressx, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1 },
	};
	struct dwarf_fixture *f = *state;

	put_uint(&f->s[DWARF_ADDR], 0x8000, 8);
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		struct interval_list got = { 0 };

		f->s[DWARF_RNGLISTS].len = 0;
		buf_put(&f->s[DWARF_RNGLISTS], entries[i], sizeof(entries[i]));
		assert_int_equal(add_list(unit_of(f, 5), DWARF_SECTION_OFFSET, 0, &got), -EBADMSG);
		assert_int_equal(got.len, 0);
		vec_fini(&got);
	}
}

static void the_number_of_ranges_of_a_die_is_limited(void **state)
{
	struct dwarf_fixture *f = *state;
	struct interval_list got = { 0 };

	for (int i = 0; i < DWARF_RANGES_MAX; i++) {
		put_pair(f, 0x10, 0x20);
		PUT(&f->s[DWARF_RNGLISTS], DW_RLE_offset_pair, 1, 2);
	}
	assert_int_equal(add_list(unit_of(f, 4), DWARF_SECTION_OFFSET, 0, &got), -EBADMSG);
	assert_int_equal(got.len, DWARF_RANGES_MAX);
	assert_int_equal(add_list(unit_of(f, 5), DWARF_SECTION_OFFSET, 0, &got), -EBADMSG);
	assert_int_equal(got.len, 2 * DWARF_RANGES_MAX);
	vec_fini(&got);
}

static void lists_outside_their_section_are_refused(void **state)
{
	static const uint64_t offsets[] = { 16, 17, UINT64_MAX };
	struct dwarf_fixture *f = *state;
	struct interval_list got = { 0 };

	assert_int_equal(add_list(unit_of(f, 4), DWARF_SECTION_OFFSET, 0, &got), -EBADMSG);
	assert_int_equal(add_list(unit_of(f, 5), DWARF_SECTION_OFFSET, 0, &got), -EBADMSG);
	put_pair(f, 0, 0);
	put_uint(&f->s[DWARF_RNGLISTS], 0, 16);
	for (size_t i = 0; i < 3; i++)
		for (uint16_t version = 4; version <= 5; version++)
			assert_int_equal(add_list(unit_of(f, version), DWARF_SECTION_OFFSET,
						  offsets[i], &got),
					 -EBADMSG);
	assert_int_equal(got.len, 0);
}

static void the_unit_has_ranges_as_its_functions_have(void **state)
{
	struct dwarf_fixture *f = *state;
	struct interval_list got = { 0 };
	struct dwarf_unit *u;

	put_pair(f, 0x10, 0x20);
	put_pair(f, 0, 0);
	u = unit_of(f, 4);
	assert_int_equal(dwarf_unit_ranges_add(u, ID, &got), 0);
	assert_int_equal(got.len, 0);
	u->has_high = true;
	u->high_pc = LOW_PC + 0x100;
	assert_int_equal(dwarf_unit_ranges_add(u, ID, &got), 0);
	CHECK(&got, LOW_PC, LOW_PC + 0x100);
	u->has_ranges = true;
	u->gnu_ranges_base = 1000; /* It applies to the split unit only. */
	assert_int_equal(dwarf_unit_ranges_add(u, ID, &got), 0);
	CHECK(&got, LOW_PC + 0x10, LOW_PC + 0x20);
}

TEST_GROUP(test_dwarf_ranges, DWARF_TEST(high_pc_is_an_address_or_a_length),
	   DWARF_TEST(empty_reversed_and_discarded_ranges_are_omitted),
	   DWARF_TEST(a_die_without_both_addresses_has_no_range),
	   DWARF_TEST(version_4_lists_have_pairs_relative_to_a_base),
	   DWARF_TEST(version_3_lists_may_have_addresses_of_4_bytes),
	   DWARF_TEST(version_5_lists_have_entries_of_seven_kinds),
	   DWARF_TEST(a_truncated_list_has_the_ranges_before_the_end),
	   DWARF_TEST(a_list_by_index_is_relative_to_the_base),
	   DWARF_TEST(hostile_entries_are_refused),
	   DWARF_TEST(the_number_of_ranges_of_a_die_is_limited),
	   DWARF_TEST(lists_outside_their_section_are_refused),
	   DWARF_TEST(the_unit_has_ranges_as_its_functions_have))
