/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/dwarf/fixture.h"

#include <dwarf.h>

#include "tests/test.h"

int dwarf_fixture_setup(void **state)
{
	*state = calloc(1, sizeof(struct dwarf_fixture));
	return *state ? 0 : -1;
}

int dwarf_fixture_teardown(void **state)
{
	struct dwarf_fixture *f = *state;

	for (int i = 0; i < DWARF_SECTION_MAX; i++)
		buf_fini(&f->s[i]);
	dwarf_file_fini(&f->file);
	free(f);
	return 0;
}

void dwarf_fixture_load(struct dwarf_fixture *f)
{
	struct dwarf_sections *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	dwarf_file_fini(&f->file);
	for (int i = 0; i < DWARF_SECTION_MAX; i++) {
		assert_int_equal(buf_error(&f->s[i]), 0);
		if (!f->s[i].len)
			continue;
		s->heap[i] = malloc(f->s[i].len);
		assert_non_null(s->heap[i]);
		memcpy(s->heap[i], f->s[i].data, f->s[i].len);
		s->s[i] = (struct elf_span){ .data = s->heap[i], .len = f->s[i].len };
	}
	f->file.sections = s;
}

struct dwarf_unit *dwarf_fixture_unit(struct dwarf_fixture *f)
{
	dwarf_fixture_load(f);
	assert_int_equal(dwarf_file_scan(&f->file), 0);
	assert_true(f->file.units.len > 0);
	return f->file.units.data[0];
}

void put_uint(struct buf *b, uint64_t v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_put_byte(b, i < sizeof(v) ? (uint8_t)(v >> (8 * i)) : 0);
}

void put_uleb(struct buf *b, uint64_t v)
{
	do {
		uint8_t byte = v & 0x7f;

		v >>= 7;
		buf_put_byte(b, (uint8_t)(byte | (v ? 0x80 : 0)));
	} while (v);
}

void put_sleb(struct buf *b, int64_t v)
{
	for (;;) {
		uint8_t byte = (uint8_t)(v & 0x7f);

		v >>= 7;
		if ((v == 0 && !(byte & 0x40)) || (v == -1 && (byte & 0x40))) {
			buf_put_byte(b, byte);
			return;
		}
		buf_put_byte(b, (uint8_t)(byte | 0x80));
	}
}

void put_string(struct buf *b, const char *s)
{
	buf_put(b, s, strlen(s) + 1);
}

void patch_length(struct buf *b, size_t at)
{
	uint32_t len = (uint32_t)(b->len - at - 4);

	memcpy(b->data + at, &len, sizeof(len));
}

size_t begin_unit(struct dwarf_fixture *f, uint16_t version, uint32_t abbrev_off)
{
	struct buf *b = &f->s[DWARF_INFO];
	size_t at = b->len;

	put_uint(b, 0, 4);
	put_uint(b, version, 2);
	if (version >= 5)
		PUT(b, DW_UT_compile, 8);
	put_uint(b, abbrev_off, 4);
	if (version < 5)
		PUT(b, 8);
	return at;
}

void end_unit(struct dwarf_fixture *f, size_t unit)
{
	patch_length(&f->s[DWARF_INFO], unit);
}

void put_abbrev(struct dwarf_fixture *f, uint64_t code, uint16_t tag, bool has_children,
		const uint16_t *specs)
{
	struct buf *b = &f->s[DWARF_ABBREV];

	put_uleb(b, code);
	put_uleb(b, tag);
	PUT(b, has_children);
	for (; specs[0]; specs += 2) {
		put_uleb(b, specs[0]);
		put_uleb(b, specs[1]);
	}
	PUT(b, 0, 0);
}

void end_abbrevs(struct dwarf_fixture *f)
{
	PUT(&f->s[DWARF_ABBREV], 0);
}
