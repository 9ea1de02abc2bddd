/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/perfmap.h"

#include <stdio.h>

#include "base/buf.h"
#include "tests/test.h"
#include "tests/unit/symbol/jit_scan.h"

static void a_perf_map_is_read_line_by_line(void **state)
{
	static const char text[] = "1000 20 first one\n0x2000 10 second\nnonsense\n3000 zz bad\n"
				   "1010 8 newer\n4000 10 unfinished\n";
	static const uint64_t addrs[] = { 0x1000, 0x1010, 0x1018, 0x2005, 0x3000, 0x4000 };
	struct jit_scan s;

	jit_scan_open(&s, text, sizeof(text) - 1, addrs, 6);
	s.in.end--;
	perfmap_scan(&s.in, &s.at, &s.places);
	jit_scan_check(&s, 0x1000, "first one");
	jit_scan_check(&s, 0x1010, "newer");
	jit_scan_check(&s, 0x1018, "first one");
	jit_scan_check(&s, 0x2005, "second");
	jit_scan_check(&s, 0x3000, NULL);
	jit_scan_check(&s, 0x4000, NULL);
	assert_int_equal(s.at, strlen(text) - strlen("4000 10 unfinished\n"));
	s.in.end++;
	perfmap_scan(&s.in, &s.at, &s.places);
	jit_scan_check(&s, 0x4000, "unfinished");
	assert_int_equal(s.at, strlen(text));
	jit_scan_close(&s);
}

static void skips_a_line_that_is_too_long(void **state)
{
	static const uint64_t addrs[] = { 0x10, 0x1000 };
	struct buf b = { 0 };
	struct jit_scan s;

	buf_put_str(&b, "1000 10 ");
	for (int i = 0; i < 200000; i++)
		buf_put_byte(&b, 'a');
	buf_put_str(&b, "\n10 10 next\n");
	jit_scan_open(&s, b.data, b.len, addrs, 2);
	perfmap_scan(&s.in, &s.at, &s.places);
	jit_scan_check(&s, 0x10, "next");
	jit_scan_check(&s, 0x1000, NULL);
	jit_scan_close(&s);
	buf_fini(&b);
}

/* Lines cross the ends of the window, at every offset. */
static void reads_more_than_the_window_holds(void **state)
{
	enum { N = 20000 };
	struct buf b = { 0 };
	uint64_t addrs[N];
	struct jit_scan s;

	for (int i = 0; i < N; i++) {
		addrs[i] = 0x1000 + 16 * (uint64_t)i;
		buf_printf(&b, "%lx 10 f%d\n", addrs[i], i);
	}
	jit_scan_open(&s, b.data, b.len, addrs, N);
	perfmap_scan(&s.in, &s.at, &s.places);
	for (int i = 0; i < N; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", i);
		jit_scan_check(&s, addrs[i], name);
	}
	jit_scan_close(&s);
	buf_fini(&b);
}

static void reads_hexadecimal_numbers_of_up_to_16_digits(void **state)
{
	static const char text[] =
		"0X1aBc 0x10 mixed case\n"
		"ffffffffffff0000 1 sixteen digits\n"
		"00000000000000010 10 seventeen digits\n"
		"0x 10 no digits\n20 10\n20 10 \n20  10 two spaces\n 20 10 space first\n"
		"20\t10 tab\n-20 10 sign\n30 0 empty\n30 ffffffffffffffff wraps\n\n"
		"40 10 carriage return\r\n";
	static const uint64_t addrs[] = { 0x10, 0x20, 0x30, 0x40, 0x1abc, 0xffffffffffff0000 };
	struct jit_scan s;

	jit_scan_open(&s, text, sizeof(text) - 1, addrs, 6);
	perfmap_scan(&s.in, &s.at, &s.places);
	jit_scan_check(&s, 0x1abc, "mixed case");
	jit_scan_check(&s, 0xffffffffffff0000, "sixteen digits");
	jit_scan_check(&s, 0x10, NULL);
	jit_scan_check(&s, 0x20, NULL);
	jit_scan_check(&s, 0x30, NULL);
	jit_scan_check(&s, 0x40, "carriage return\r");
	jit_scan_close(&s);
}

static void skips_a_name_with_a_nul_byte(void **state)
{
	static const char text[] = "10 10 a\0b\n20 10 c\n";
	static const uint64_t addrs[] = { 0x10, 0x20 };
	struct jit_scan s;

	jit_scan_open(&s, text, sizeof(text) - 1, addrs, 2);
	perfmap_scan(&s.in, &s.at, &s.places);
	jit_scan_check(&s, 0x10, NULL);
	jit_scan_check(&s, 0x20, "c");
	jit_scan_close(&s);
}

/* Lines of all lengths around the limit, after @shift other bytes. */
static void check_long_lines(size_t shift)
{
	enum { FROM = JIT_NAME_MAX - 4, TO = JIT_NAME_MAX + 70, N = TO - FROM + 1 };
	struct buf b = { 0 };
	uint64_t addrs[N];
	struct jit_scan s;

	for (size_t i = 0; i < shift; i++)
		buf_put_byte(&b, '\n');
	for (uint64_t n = FROM; n <= TO; n++) {
		addrs[n - FROM] = n << 12;
		buf_printf(&b, "%lx000 10 ", n);
		for (uint64_t i = 0; i < n; i++)
			buf_put_byte(&b, 'n');
		buf_put_byte(&b, '\n');
	}
	jit_scan_open(&s, b.data, b.len, addrs, N);
	perfmap_scan(&s.in, &s.at, &s.places);
	assert_int_equal(s.at, b.len);
	for (uint64_t n = FROM; n <= TO; n++) {
		const struct jit_place *p = &s.places.data[n - FROM];
		size_t line_len = n + strlen("1234000 10 ");

		assert_int_equal(!!p->size, line_len < JIT_NAME_MAX + 64);
		if (p->size)
			assert_int_equal(p->name.len, n < JIT_NAME_MAX ? n : JIT_NAME_MAX);
	}
	jit_scan_close(&s);
	buf_fini(&b);
}

static void what_is_read_does_not_depend_on_where_the_window_ends(void **state)
{
	for (size_t shift = 0; shift < 5000; shift += 499)
		check_long_lines(shift);
}

/* Cuts the text after each byte: exactly the functions on complete lines are known. */
static void knows_the_complete_lines_of_a_truncated_map(void **state)
{
	static const char text[] = "1000 10 a\nbad\n2000 10 b\n3000 10 c\n";
	static const uint64_t addrs[] = { 0x1000, 0x2000, 0x3000 };

	for (size_t len = 0; len < sizeof(text); len++) {
		struct jit_scan s;
		size_t n_lines = 0;

		for (size_t i = 0; i < len; i++)
			n_lines += text[i] == '\n';
		jit_scan_open(&s, text, len, addrs, 3);
		perfmap_scan(&s.in, &s.at, &s.places);
		jit_scan_check(&s, 0x1000, n_lines > 0 ? "a" : NULL);
		jit_scan_check(&s, 0x2000, n_lines > 2 ? "b" : NULL);
		jit_scan_check(&s, 0x3000, n_lines > 3 ? "c" : NULL);
		jit_scan_close(&s);
	}
}

TEST_GROUP(test_perfmap, TEST(a_perf_map_is_read_line_by_line), TEST(skips_a_line_that_is_too_long),
	   TEST(reads_more_than_the_window_holds),
	   TEST(reads_hexadecimal_numbers_of_up_to_16_digits), TEST(skips_a_name_with_a_nul_byte),
	   TEST(what_is_read_does_not_depend_on_where_the_window_ends),
	   TEST(knows_the_complete_lines_of_a_truncated_map))
