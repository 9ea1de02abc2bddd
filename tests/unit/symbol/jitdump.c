/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/jitdump.h"

#include <errno.h>

#include "base/buf.h"
#include "tests/test.h"
#include "tests/unit/symbol/jit_scan.h"

static void put32(struct buf *b, uint32_t v)
{
	buf_put(b, &v, sizeof(v));
}

static void put64(struct buf *b, uint64_t v)
{
	buf_put(b, &v, sizeof(v));
}

static void put_header(struct buf *b)
{
	put32(b, 0x4a695444);
	put32(b, 1);
	put32(b, 40);
	for (int i = 0; i < 7; i++)
		put32(b, 0);
}

static void put_prefix(struct buf *b, uint32_t id, uint32_t body_len)
{
	put32(b, id);
	put32(b, 16 + body_len);
	put64(b, 0);
}

static void put_load(struct buf *b, uint64_t addr, uint64_t size, const char *name)
{
	put_prefix(b, 0, (uint32_t)(40 + strlen(name) + 1 + size));
	put64(b, 0);
	put64(b, addr);
	put64(b, addr);
	put64(b, size);
	put64(b, 1);
	buf_put(b, name, strlen(name) + 1);
	for (uint64_t i = 0; i < size; i++)
		buf_put_byte(b, 0x90);
}

static void put_move(struct buf *b, uint64_t from, uint64_t to, uint64_t size)
{
	put_prefix(b, 1, 48);
	put64(b, 0);
	put64(b, to);
	put64(b, from);
	put64(b, to);
	put64(b, size);
	put64(b, 1);
}

static void put_lines(struct buf *b, uint64_t addr)
{
	put_prefix(b, 2, 16 + (16 + 5) + (16 + 2));
	put64(b, addr);
	put64(b, 2);
	put64(b, addr);
	put32(b, 10);
	put32(b, 0);
	buf_put(b, "a.js", 5);
	put64(b, addr + 8);
	put32(b, 20);
	put32(b, 0);
	buf_put(b, "\377", 2);
}

static void make_dump(struct buf *b)
{
	put_header(b);
	put_lines(b, 0x1000);
	put_load(b, 0x1000, 0x100, "f");
	put_load(b, 0x3000, 0x10, "g");
	put_prefix(b, 99, 4);
	put32(b, 0);
	put_move(b, 0x1000, 0x9000, 0x100);
}

static void a_jitdump_has_functions_lines_and_moves(void **state)
{
	static const uint64_t addrs[] = { 0x1009, 0x3001, 0x4000, 0x9001, 0xa009 };
	const struct jit_place *p;
	struct buf b = { 0 };
	struct jit_scan s;

	make_dump(&b);
	put_move(&b, 0x9000, 0xa000, 0x100);
	jit_scan_open(&s, b.data, b.len, addrs, 5);
	assert_int_equal(jitdump_scan(&s.in, &s.at, &s.places), 0);
	assert_int_equal(s.at, b.len);
	p = jit_scan_check(&s, 0x1009, "f");
	jit_scan_check_text(&s, &p->file, "a.js");
	assert_int_equal(p->line, 20);
	p = jit_scan_check(&s, 0x9001, "f");
	jit_scan_check_text(&s, &p->file, "a.js");
	assert_int_equal(p->line, 10);
	assert_int_equal(jit_scan_check(&s, 0xa009, "f")->line, 20);
	assert_int_equal(jit_scan_check(&s, 0x3001, "g")->line, 0);
	jit_scan_check(&s, 0x4000, NULL);
	jit_scan_close(&s);
	buf_fini(&b);
}

static void a_jitdump_is_read_on_from_any_end(void **state)
{
	static const uint64_t addrs[] = { 0x1009, 0x3001 };
	struct buf b = { 0 };

	make_dump(&b);
	for (size_t end = 0; end <= b.len; end++) {
		struct jit_scan s;

		jit_scan_open(&s, b.data, b.len, addrs, 2);
		s.in.end = end;
		assert_int_equal(jitdump_scan(&s.in, &s.at, &s.places), 0);
		assert_true(s.at <= end);
		s.in.end = b.len;
		assert_int_equal(jitdump_scan(&s.in, &s.at, &s.places), 0);
		assert_int_equal(jit_scan_check(&s, 0x1009, "f")->line, 20);
		jit_scan_check(&s, 0x3001, "g");
		jit_scan_close(&s);
	}
	buf_fini(&b);
}

static void a_move_from_unread_code_requires_the_whole_file(void **state)
{
	static const uint64_t addrs[] = { 0x9001 };
	struct buf b = { 0 };
	struct jit_scan s;

	make_dump(&b);
	jit_scan_open(&s, b.data, b.len, addrs, 1);
	s.at = b.len - 64; /* the move */
	assert_int_equal(jitdump_scan(&s.in, &s.at, &s.places), -EAGAIN);
	s.at = 0;
	assert_int_equal(jitdump_scan(&s.in, &s.at, &s.places), 0);
	jit_scan_check(&s, 0x9001, "f");
	jit_scan_close(&s);
	buf_fini(&b);
}

static void tolerates_a_damaged_jitdump(void **state)
{
	static const uint64_t addrs[] = { 0x1009, 0x3001, 0x9001 };
	struct buf b = { 0 };

	make_dump(&b);
	for (size_t i = 0; i < b.len; i++) {
		struct jit_scan s;
		int r;

		b.data[i] ^= 0xff;
		jit_scan_open(&s, b.data, b.len, addrs, 3);
		r = jitdump_scan(&s.in, &s.at, &s.places);
		assert_true(r == 0 || r == -EBADMSG);
		for (size_t k = 0; k < s.places.len; k++)
			assert_true(s.places.data[k].name.off + s.places.data[k].name.len < b.len);
		jit_scan_close(&s);
		b.data[i] ^= 0xff;
	}
	buf_fini(&b);
}

static void refuses_files_that_are_not_jitdumps(void **state)
{
	static const char text[] = "this is not a jitdump, but it is long enough to be";
	static const uint64_t addr = 1;
	struct jit_scan s;

	jit_scan_open(&s, text, sizeof(text), &addr, 1);
	assert_int_equal(jitdump_scan(&s.in, &s.at, &s.places), -EBADMSG);
	jit_scan_close(&s);
	assert_true(jitdump_is_path("/root/.debug/jit/x/jit-123.dump"));
	assert_false(jitdump_is_path("/tmp/perf-123.map"));
	assert_false(jitdump_is_path("jit-1.dump"));
}

/* A dump whose content the test appends to. */
struct dump {
	struct buf bytes;
	struct jit_text file; /* of the line that check_code() found last */
};

/* Scans for @n addresses; the caller closes @s. */
static int scan_for(const struct dump *d, struct jit_scan *s, const uint64_t *addrs, size_t n)
{
	assert_int_equal(buf_error(&d->bytes), 0);
	jit_scan_open(s, d->bytes.data, d->bytes.len, addrs, n);
	return jitdump_scan(&s->in, &s->at, &s->places);
}

static int scan(const struct dump *d)
{
	struct jit_scan s;
	int r = scan_for(d, &s, NULL, 0);

	jit_scan_close(&s);
	return r;
}

/* A NULL @name means that no function is known at @addr. */
static void check_code(struct dump *d, uint64_t addr, const char *name, uint32_t line)
{
	const struct jit_place *p;
	struct jit_scan s;
	int r = scan_for(d, &s, &addr, 1);

	assert_true(r == 0 || r == -EBADMSG);
	p = jit_scan_check(&s, addr, name);
	assert_int_equal(p->line, line);
	d->file = p->file;
	jit_scan_close(&s);
}

/* Writes a header of @len bytes, 40 of which the format defines. */
static int feed_header(uint32_t magic, uint32_t version, uint32_t len)
{
	const uint32_t fields[] = { magic, version, len };
	static const uint64_t addr = 0x1000;
	struct buf b = { 0 };
	struct jit_scan s;
	int r;

	put_header(&b);
	memcpy(b.data, fields, sizeof(fields));
	for (uint32_t i = 40; i < len && i < 8192; i++)
		buf_put_byte(&b, 0xff);
	put_load(&b, 0x1000, 16, "f");
	jit_scan_open(&s, b.data, b.len, &addr, 1);
	r = jitdump_scan(&s.in, &s.at, &s.places);
	jit_scan_check(&s, addr, r == 0 ? "f" : NULL);
	jit_scan_close(&s);
	buf_fini(&b);
	return r;
}

static void a_header_states_its_own_length(void **state)
{
	assert_int_equal(feed_header(0x4a695444, 1, 40), 0);
	assert_int_equal(feed_header(0x4a695444, 1, 56), 0);
	assert_int_equal(feed_header(0x4a695444, 1, 4096), 0);
	assert_int_equal(feed_header(0x4a695444, 1, 39), -EBADMSG);
	assert_int_equal(feed_header(0x4a695444, 1, 4097), -EBADMSG);
	assert_int_equal(feed_header(0x4a695444, 1, UINT32_MAX), -EBADMSG);
	assert_int_equal(feed_header(0x4a695444, 2, 40), -EBADMSG);
	assert_int_equal(feed_header(0x4454694a, 1, 40), -EBADMSG);
}

static void a_truncated_dump_has_the_functions_of_its_complete_records(void **state)
{
	static const uint64_t addrs[] = { 0x1000, 0x2000, 0x3000 };
	struct buf b = { 0 };
	size_t ends[3];

	put_header(&b);
	put_load(&b, 0x1000, 0x10, "f");
	ends[0] = b.len;
	put_move(&b, 0x1000, 0x2000, 0x10);
	ends[1] = b.len;
	put_load(&b, 0x3000, 0x10, "g");
	ends[2] = b.len;
	for (size_t len = 0; len <= b.len; len++) {
		struct jit_scan s;

		jit_scan_open(&s, b.data, len, addrs, 3);
		assert_int_equal(jitdump_scan(&s.in, &s.at, &s.places), 0);
		jit_scan_check(&s, 0x1000, len >= ends[0] ? "f" : NULL);
		jit_scan_check(&s, 0x2000, len >= ends[1] ? "f" : NULL);
		jit_scan_check(&s, 0x3000, len >= ends[2] ? "g" : NULL);
		jit_scan_close(&s);
	}
	buf_fini(&b);
}

static void a_record_shorter_than_its_prefix_ends_the_dump(void **state)
{
	struct dump d = { 0 };

	put_header(&d.bytes);
	put_load(&d.bytes, 0x1000, 16, "f");
	put32(&d.bytes, 0);
	put32(&d.bytes, 15);
	put64(&d.bytes, 0);
	put_load(&d.bytes, 0x2000, 16, "g");
	assert_int_equal(scan(&d), -EBADMSG);
	check_code(&d, 0x1000, "f", 0);
	check_code(&d, 0x2000, NULL, 0);
	buf_fini(&d.bytes);
}

static void records_with_false_lengths_are_skipped(void **state)
{
	struct dump d = { 0 };

	put_header(&d.bytes);
	put_prefix(&d.bytes, 0, 24); /* a load that ends before its size and its name */
	for (int i = 0; i < 3; i++)
		put64(&d.bytes, 0x1000);
	put_prefix(&d.bytes, 1, 8); /* a move without addresses */
	put64(&d.bytes, 0);
	put_prefix(&d.bytes, 2, 8); /* lines without their number */
	put64(&d.bytes, 0x1000);
	put_prefix(&d.bytes, 0, 0); /* a load without a body */
	put_load(&d.bytes, 0x2000, 16, "g");
	assert_int_equal(scan(&d), 0);
	check_code(&d, 0x1000, NULL, 0);
	check_code(&d, 0x2000, "g", 0);
	buf_fini(&d.bytes);
}

static void a_function_whose_name_is_too_long_is_skipped(void **state)
{
	struct dump d = { 0 };
	char name[2 * JIT_NAME_MAX];

	put_header(&d.bytes);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	put_load(&d.bytes, 0x1000, 16, name);
	put_load(&d.bytes, 0x2000, 16, "g");
	name[JIT_NAME_MAX] = '\0';
	put_load(&d.bytes, 0x3000, 16, name);
	assert_int_equal(scan(&d), 0);
	check_code(&d, 0x1000, NULL, 0);
	check_code(&d, 0x2000, "g", 0);
	check_code(&d, 0x3000, name, 0);
	buf_fini(&d.bytes);
}

static void put_entry(struct buf *b, uint64_t addr, uint32_t line)
{
	put64(b, addr);
	put32(b, line);
	put32(b, 0);
	buf_put(b, "x", 2);
}

static void lines_are_sorted_by_address(void **state)
{
	struct dump d = { 0 };

	put_header(&d.bytes);
	put_prefix(&d.bytes, 2, 16 + 3 * 18);
	put64(&d.bytes, 0x1000);
	put64(&d.bytes, 3);
	put_entry(&d.bytes, 0x1010, 30);
	put_entry(&d.bytes, 0x1004, 10);
	put_entry(&d.bytes, 0x1008, 20);
	put_load(&d.bytes, 0x1000, 0x20, "f");
	assert_int_equal(scan(&d), 0);
	check_code(&d, 0x1003, "f", 0);
	check_code(&d, 0x1004, "f", 10);
	check_code(&d, 0x1009, "f", 20);
	check_code(&d, 0x101f, "f", 30);
	buf_fini(&d.bytes);
}

static void lines_belong_only_to_the_next_load_of_their_address(void **state)
{
	struct dump d = { 0 };

	put_header(&d.bytes);
	put_lines(&d.bytes, 0x1000);
	put_load(&d.bytes, 0x2000, 16, "other");
	put_load(&d.bytes, 0x1000, 16, "late");
	put_lines(&d.bytes, 0x3000);
	put_load(&d.bytes, 0x3000, 16, "f");
	put_load(&d.bytes, 0x3000, 16, "loaded again");
	assert_int_equal(scan(&d), 0);
	check_code(&d, 0x2000, "other", 0);
	check_code(&d, 0x1000, "late", 0);
	check_code(&d, 0x3000, "loaded again", 0);
	buf_fini(&d.bytes);
}

static void a_false_number_of_lines_is_bounded_by_the_record(void **state)
{
	struct dump d = { 0 };

	put_header(&d.bytes);
	put_prefix(&d.bytes, 2, 16 + 18 + 5);
	put64(&d.bytes, 0x1000);
	put64(&d.bytes, UINT64_MAX);
	put_entry(&d.bytes, 0x1000, 7);
	buf_put(&d.bytes, "\1\2\3\4\5", 5);
	put_load(&d.bytes, 0x1000, 16, "f");
	assert_int_equal(scan(&d), 0);
	check_code(&d, 0x1000, "f", 7);
	buf_fini(&d.bytes);
}

static void a_repeated_file_name_without_a_first_one_is_unknown(void **state)
{
	struct dump d = { 0 };

	put_header(&d.bytes);
	put_prefix(&d.bytes, 2, 16 + 18);
	put64(&d.bytes, 0x1000);
	put64(&d.bytes, 1);
	put64(&d.bytes, 0x1000);
	put32(&d.bytes, 3);
	put32(&d.bytes, 0);
	buf_put(&d.bytes, "\377", 2);
	put_load(&d.bytes, 0x1000, 16, "f");
	assert_int_equal(scan(&d), 0);
	check_code(&d, 0x1000, "f", 3);
	assert_int_equal(d.file.len, 0);
	buf_fini(&d.bytes);
}

static void moves_keep_name_and_lines_and_may_repeat(void **state)
{
	struct dump d = { 0 };

	put_header(&d.bytes);
	put_lines(&d.bytes, 0x1000);
	put_load(&d.bytes, 0x1000, 0x20, "f");
	put_move(&d.bytes, 0x1000, 0x2000, 0x20);
	put_move(&d.bytes, 0x2000, 0x3000, 0x20);
	put_move(&d.bytes, 0x5000, 0x6000, 0x20);         /* of unknown code */
	put_move(&d.bytes, 0x1004, 0x6000, 0x20);         /* from the middle of a function */
	put_move(&d.bytes, 0x1000, UINT64_MAX - 4, 0x20); /* beyond the address space */
	assert_int_equal(scan(&d), 0);
	check_code(&d, 0x3000, "f", 10);
	check_code(&d, 0x3008, "f", 20);
	check_code(&d, 0x6000, NULL, 0);
	check_code(&d, UINT64_MAX - 2, NULL, 0);
	buf_fini(&d.bytes);
}

TEST_GROUP(test_jitdump, TEST(a_jitdump_has_functions_lines_and_moves),
	   TEST(a_jitdump_is_read_on_from_any_end),
	   TEST(a_move_from_unread_code_requires_the_whole_file), TEST(tolerates_a_damaged_jitdump),
	   TEST(refuses_files_that_are_not_jitdumps), TEST(a_header_states_its_own_length),
	   TEST(a_truncated_dump_has_the_functions_of_its_complete_records),
	   TEST(a_record_shorter_than_its_prefix_ends_the_dump),
	   TEST(records_with_false_lengths_are_skipped),
	   TEST(a_function_whose_name_is_too_long_is_skipped), TEST(lines_are_sorted_by_address),
	   TEST(lines_belong_only_to_the_next_load_of_their_address),
	   TEST(a_false_number_of_lines_is_bounded_by_the_record),
	   TEST(a_repeated_file_name_without_a_first_one_is_unknown),
	   TEST(moves_keep_name_and_lines_and_may_repeat))
