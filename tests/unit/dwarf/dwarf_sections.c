/* SPDX-License-Identifier: Apache-2.0 */
#include "dwarf/dwarf_sections.h"

#include <errno.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/err.h"
#include "tests/test.h"
#include "tests/unit/elf/fixture.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

enum { HEAP = 1 << 20, TEXT_LEN = 10000 };

/* A section's data: repetitive, but not all the same. */
static const uint8_t *text(void)
{
	static uint8_t bytes[TEXT_LEN];

	for (size_t i = 0; i < TEXT_LEN; i++)
		bytes[i] = (uint8_t)(i / 7);
	return bytes;
}

/* Appends the text as a compressed stream. */
static void put_stream(struct buf *b, uint32_t type)
{
	uint8_t out[2 * TEXT_LEN];
	uLongf len = sizeof(out);

	if (type == ELFCOMPRESS_ZLIB)
		assert_int_equal(compress(out, &len, text(), TEXT_LEN), Z_OK);
	else
		len = ZSTD_compress(out, sizeof(out), text(), TEXT_LEN, 1);
	assert_true(len < TEXT_LEN);
	buf_put(b, out, len);
}

/* The content of a section with SHF_COMPRESSED that states @size. */
static void put_compressed(struct buf *b, uint32_t type, uint64_t size)
{
	const Elf64_Chdr ch = { .ch_type = type, .ch_size = size, .ch_addralign = 1 };

	buf_put(b, &ch, sizeof(ch));
	put_stream(b, type);
}

static void add_compressed(struct fixture *f, const char *name, const struct buf *b)
{
	uint32_t i = fixture_add(f, name, SHT_PROGBITS, b->data, b->len);

	f->sh[i].sh_flags = SHF_COMPRESSED;
}

/* Opens the file @f with limit @max_heap and finishes @f, except where the result is a file. */
static int open_file(struct fixture *f, size_t max_heap, struct dwarf_sections **out)
{
	fixture_open(f);
	return dwarf_sections_from_memory(out, f->bytes.data, f->bytes.len, max_heap, NULL);
}

static void check_text(const struct elf_span *s)
{
	assert_int_equal(s->len, TEXT_LEN);
	assert_memory_equal(s->data, text(), TEXT_LEN);
}

static void finds_sections_under_all_names(void **state)
{
	struct dwarf_sections *s;
	struct fixture f;

	fixture_init(&f);
	fixture_add(&f, ".debug_info", SHT_PROGBITS, "info", 4);
	fixture_add(&f, ".debug_abbrev.dwo", SHT_PROGBITS, "abbrev", 6);
	fixture_add(&f, ".debug_str", SHT_PROGBITS, "plain", 5);
	fixture_add(&f, ".debug_str.dwo", SHT_PROGBITS, "split", 5);
	fixture_add(&f, ".debug_cu_index", SHT_PROGBITS, "index", 5);
	assert_int_equal(open_file(&f, 0, &s), 0);
	assert_memory_equal(s->s[DWARF_INFO].data, "info", 4);
	assert_memory_equal(s->s[DWARF_ABBREV].data, "abbrev", 6);
	assert_memory_equal(s->s[DWARF_STR].data, "plain", 5);
	assert_memory_equal(s->s[DWARF_CU_INDEX].data, "index", 5);
	assert_null(s->s[DWARF_LINE].data);
	assert_int_equal(s->heap_bytes, 0);
	dwarf_sections_free(s);
	fixture_fini(&f);
}

static void decompresses_zlib_and_zstd(void **state)
{
	struct dwarf_sections *s;
	struct buf b = { 0 };
	struct fixture f;
	int fd;

	fixture_init(&f);
	put_compressed(&b, ELFCOMPRESS_ZLIB, TEXT_LEN);
	add_compressed(&f, ".debug_info", &b);
	b.len = 0;
	put_compressed(&b, ELFCOMPRESS_ZSTD, TEXT_LEN);
	add_compressed(&f, ".debug_line", &b);
	b.len = 0;
	buf_put(&b, "ZLIB\0\0\0\0\0\0\x27\x10", 12); /* 10000 in big endian */
	put_stream(&b, ELFCOMPRESS_ZLIB);
	fixture_add(&f, ".zdebug_str", SHT_PROGBITS, b.data, b.len);
	fd = fixture_memfd(&f);
	assert_int_equal(dwarf_sections_open(&s, fd, 3 * TEXT_LEN, NULL), 0);
	close(fd);
	check_text(&s->s[DWARF_INFO]);
	check_text(&s->s[DWARF_LINE]);
	check_text(&s->s[DWARF_STR]);
	assert_int_equal(s->heap_bytes, 3 * TEXT_LEN);
	dwarf_sections_free(s);
	buf_fini(&b);
	fixture_fini(&f);
}

static void files_without_debug_info_have_no_data(void **state)
{
	struct dwarf_sections *s;
	struct fixture f;

	for (int empty = 0; empty < 3; empty++) {
		fixture_init(&f);
		fixture_add(&f, ".debug_line", SHT_PROGBITS, "line", 4);
		if (empty == 1)
			fixture_add(&f, ".debug_info", SHT_PROGBITS, "", 0);
		else if (empty == 2) /* it is in another file */
			fixture_add(&f, ".debug_info", SHT_NOBITS, "info", 4);
		assert_int_equal(open_file(&f, HEAP, &s), -ENODATA);
		fixture_fini(&f);
	}
	assert_int_equal(dwarf_sections_from_memory(&s, "text", 4, HEAP, NULL), -ENOEXEC);
}

/* Returns the result for a .debug_info of @b, with SHF_COMPRESSED. */
static int open_compressed(const struct buf *b, size_t max_heap)
{
	struct dwarf_sections *s = NULL;
	struct fixture f;
	int r;

	fixture_init(&f);
	add_compressed(&f, ".debug_info", b);
	r = open_file(&f, max_heap, &s);
	if (r == 0)
		check_text(&s->s[DWARF_INFO]);
	dwarf_sections_free(s);
	fixture_fini(&f);
	return r;
}

static void a_stream_must_have_exactly_the_stated_size(void **state)
{
	static const uint32_t types[] = { ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD };

	for (size_t i = 0; i < 2; i++) {
		static const int64_t wrong[] = { -TEXT_LEN, -1, 1, 5000 };
		struct buf b = { 0 };

		put_compressed(&b, types[i], TEXT_LEN);
		assert_int_equal(open_compressed(&b, TEXT_LEN), 0);
		for (size_t k = 0; k < sizeof(wrong) / sizeof(*wrong); k++) {
			int r;

			b.len = 0;
			put_compressed(&b, types[i], (uint64_t)(TEXT_LEN + wrong[k]));
			r = open_compressed(&b, HEAP);
			assert_int_equal(r, -EBADMSG);
		}
		buf_fini(&b);
	}
}

static void a_truncated_stream_is_refused(void **state)
{
	static const uint32_t types[] = { ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD };

	for (size_t i = 0; i < 2; i++) {
		struct buf b = { 0 };
		size_t whole;

		put_compressed(&b, types[i], TEXT_LEN);
		whole = b.len;
		for (size_t len = 1; len < whole; len++) {
			b.len = len;
			assert_int_equal(open_compressed(&b, HEAP), -EBADMSG);
		}
		buf_fini(&b);
	}
}

static void sizes_over_the_limit_are_refused_before_they_are_allocated(void **state)
{
	static const uint64_t sizes[] = { HEAP + 1, 1ULL << 50, UINT64_MAX };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct buf b = { 0 };

		put_compressed(&b, ELFCOMPRESS_ZLIB, sizes[i]);
		assert_int_equal(open_compressed(&b, HEAP), -E2BIG);
		buf_fini(&b);
	}
}

static void the_limit_applies_to_all_sections_together(void **state)
{
	struct dwarf_sections *s;
	struct buf b = { 0 };
	struct err err = { 0 };
	struct fixture f;

	fixture_init(&f);
	put_compressed(&b, ELFCOMPRESS_ZLIB, TEXT_LEN);
	add_compressed(&f, ".debug_info", &b);
	add_compressed(&f, ".debug_line", &b);
	fixture_open(&f);
	assert_int_equal(
		dwarf_sections_from_memory(&s, f.bytes.data, f.bytes.len, 2 * TEXT_LEN - 1, &err),
		-E2BIG);
	assert_non_null(strstr(err.msg, ".debug_line"));
	buf_fini(&b);
	fixture_fini(&f);
}

static void unknown_compressions_and_headers_are_refused(void **state)
{
	struct dwarf_sections *s;
	struct buf b = { 0 };
	struct fixture f;

	put_compressed(&b, ELFCOMPRESS_ZLIB, TEXT_LEN);
	b.data[0] = 9;
	assert_int_equal(open_compressed(&b, HEAP), -ENOTSUP);
	b.len = 0;
	buf_put(&b, "ZLIBx", 5);
	fixture_init(&f);
	fixture_add(&f, ".zdebug_info", SHT_PROGBITS, b.data, b.len);
	assert_int_equal(open_file(&f, HEAP, &s), -EBADMSG);
	fixture_fini(&f);
	fixture_init(&f);
	fixture_add(&f, ".zdebug_info", SHT_PROGBITS, "GZIP\0\0\0\0\0\0\0\0", 12);
	assert_int_equal(open_file(&f, HEAP, &s), -EBADMSG);
	fixture_fini(&f);
	buf_fini(&b);
}

TEST_GROUP(test_dwarf_sections, TEST(finds_sections_under_all_names),
	   TEST(decompresses_zlib_and_zstd), TEST(files_without_debug_info_have_no_data),
	   TEST(a_stream_must_have_exactly_the_stated_size), TEST(a_truncated_stream_is_refused),
	   TEST(sizes_over_the_limit_are_refused_before_they_are_allocated),
	   TEST(the_limit_applies_to_all_sections_together),
	   TEST(unknown_compressions_and_headers_are_refused))
