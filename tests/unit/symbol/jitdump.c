/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/jitdump.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "tests/test.h"
#include "tests/unit/symbol/tempdir.h"

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
	struct jitdump *j;
	struct jit_function f;
	struct buf b = { 0 };
	const char *file;
	uint32_t line;

	make_dump(&b);
	assert_int_equal(jitdump_new(&j), 0);
	for (size_t i = 0; i < b.len; i++)
		assert_int_equal(jitdump_feed(j, b.data + i, 1), 0);
	assert_int_equal(jitdump_find(j, 0x1009, &f, &file, &line), 0);
	assert_string_equal(f.name, "f");
	assert_string_equal(file, "a.js");
	assert_int_equal(line, 20);
	assert_int_equal(jitdump_find(j, 0x9001, &f, &file, &line), 0);
	assert_string_equal(f.name, "f");
	assert_int_equal(line, 10);
	assert_int_equal(jitdump_find(j, 0x3001, &f, &file, &line), 0);
	assert_string_equal(file, "");
	assert_int_equal(jitdump_find(j, 0x4000, &f, &file, &line), -ENOENT);
	jitdump_free(j);
	buf_fini(&b);
}

static void tolerates_a_damaged_jitdump(void **state)
{
	struct buf b = { 0 };

	make_dump(&b);
	for (size_t i = 0; i < b.len; i++) {
		struct jitdump *j;
		struct jit_function f;
		const char *file;
		uint32_t line;

		b.data[i] ^= 0xff;
		assert_int_equal(jitdump_new(&j), 0);
		if (jitdump_feed(j, b.data, b.len) == 0)
			jitdump_find(j, 0x1009, &f, &file, &line);
		assert_true(jitdump_bytes(j) < 1 << 20);
		jitdump_free(j);
		b.data[i] ^= 0xff;
	}
	buf_fini(&b);
}

static void refuses_files_that_are_not_jitdumps(void **state)
{
	struct jitdump *j;

	assert_int_equal(jitdump_new(&j), 0);
	assert_int_equal(jitdump_feed(j, "this is not a jitdump, but it is long enough to be", 50),
			 -EBADMSG);
	jitdump_free(j);
	assert_true(jitdump_is_path("/root/.debug/jit/x/jit-123.dump"));
	assert_false(jitdump_is_path("/tmp/perf-123.map"));
	assert_false(jitdump_is_path("jit-1.dump"));
}

/* A dump whose content the test appends to and then feeds. */
struct dump {
	struct buf bytes;
	struct jitdump *j;
};

static int dump_setup(void **state)
{
	struct dump *d = calloc(1, sizeof(*d));

	if (!d || jitdump_new(&d->j) < 0)
		return -1;
	put_header(&d->bytes);
	*state = d;
	return 0;
}

static int dump_teardown(void **state)
{
	struct dump *d = *state;

	jitdump_free(d->j);
	buf_fini(&d->bytes);
	free(d);
	return 0;
}

static int feed(struct dump *d)
{
	int r = jitdump_feed(d->j, d->bytes.data, d->bytes.len);

	assert_int_equal(buf_error(&d->bytes), 0);
	d->bytes.len = 0;
	return r;
}

/* A NULL @name means that no function is known at @addr. */
static void check_code(struct jitdump *j, uint64_t addr, const char *name, uint32_t want_line)
{
	struct jit_function f;
	const char *file;
	uint32_t line;

	assert_int_equal(jitdump_find(j, addr, &f, &file, &line), name ? 0 : -ENOENT);
	if (name) {
		assert_string_equal(f.name, name);
		assert_int_equal(line, want_line);
	}
}

/* Writes a header of @len bytes, 40 of which the format defines. */
static int feed_header(uint32_t magic, uint32_t version, uint32_t len)
{
	const uint32_t fields[] = { magic, version, len };
	struct buf b = { 0 };
	struct jitdump *j;
	int r;

	put_header(&b);
	memcpy(b.data, fields, sizeof(fields));
	for (uint32_t i = 40; i < len && i < 8192; i++)
		buf_put_byte(&b, 0xff);
	put_load(&b, 0x1000, 16, "f");
	assert_int_equal(jitdump_new(&j), 0);
	r = jitdump_feed(j, b.data, b.len);
	check_code(j, 0x1000, r == 0 ? "f" : NULL, 0);
	jitdump_free(j);
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
		struct jitdump *j;

		assert_int_equal(jitdump_new(&j), 0);
		assert_int_equal(jitdump_feed(j, b.data, len), 0);
		check_code(j, 0x1000, len >= ends[0] ? "f" : NULL, 0);
		check_code(j, 0x2000, len >= ends[1] ? "f" : NULL, 0);
		check_code(j, 0x3000, len >= ends[2] ? "g" : NULL, 0);
		jitdump_free(j);
	}
	buf_fini(&b);
}

static void a_record_shorter_than_its_prefix_ends_the_dump(void **state)
{
	struct dump *d = *state;

	put_load(&d->bytes, 0x1000, 16, "f");
	put32(&d->bytes, 0);
	put32(&d->bytes, 15);
	put64(&d->bytes, 0);
	put_load(&d->bytes, 0x2000, 16, "g");
	assert_int_equal(feed(d), -EBADMSG);
	check_code(d->j, 0x1000, "f", 0);
	check_code(d->j, 0x2000, NULL, 0);
}

static void records_with_false_lengths_are_skipped(void **state)
{
	struct dump *d = *state;

	put_prefix(&d->bytes, 0, 24); /* a load that ends before its size and its name */
	for (int i = 0; i < 3; i++)
		put64(&d->bytes, 0x1000);
	put_prefix(&d->bytes, 1, 8); /* a move without addresses */
	put64(&d->bytes, 0);
	put_prefix(&d->bytes, 2, 8); /* lines without their number */
	put64(&d->bytes, 0x1000);
	put_prefix(&d->bytes, 0, 0); /* a load without a body */
	put_load(&d->bytes, 0x2000, 16, "g");
	assert_int_equal(feed(d), 0);
	check_code(d->j, 0x1000, NULL, 0);
	check_code(d->j, 0x2000, "g", 0);
}

static void a_function_whose_name_is_too_long_is_skipped(void **state)
{
	struct dump *d = *state;
	char name[2 * JIT_NAME_MAX];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	put_load(&d->bytes, 0x1000, 16, name);
	put_load(&d->bytes, 0x2000, 16, "g");
	name[JIT_NAME_MAX] = '\0';
	put_load(&d->bytes, 0x3000, 16, name);
	assert_int_equal(feed(d), 0);
	check_code(d->j, 0x1000, NULL, 0);
	check_code(d->j, 0x2000, "g", 0);
	check_code(d->j, 0x3000, name, 0);
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
	struct dump *d = *state;

	put_prefix(&d->bytes, 2, 16 + 3 * 18);
	put64(&d->bytes, 0x1000);
	put64(&d->bytes, 3);
	put_entry(&d->bytes, 0x1010, 30);
	put_entry(&d->bytes, 0x1004, 10);
	put_entry(&d->bytes, 0x1008, 20);
	put_load(&d->bytes, 0x1000, 0x20, "f");
	assert_int_equal(feed(d), 0);
	check_code(d->j, 0x1003, "f", 0);
	check_code(d->j, 0x1004, "f", 10);
	check_code(d->j, 0x1009, "f", 20);
	check_code(d->j, 0x101f, "f", 30);
}

static void lines_belong_only_to_the_next_load_of_their_address(void **state)
{
	struct dump *d = *state;

	put_lines(&d->bytes, 0x1000);
	put_load(&d->bytes, 0x2000, 16, "other");
	put_load(&d->bytes, 0x1000, 16, "late");
	put_lines(&d->bytes, 0x3000);
	put_load(&d->bytes, 0x3000, 16, "f");
	put_load(&d->bytes, 0x3000, 16, "loaded again");
	assert_int_equal(feed(d), 0);
	check_code(d->j, 0x2000, "other", 0);
	check_code(d->j, 0x1000, "late", 0);
	check_code(d->j, 0x3000, "loaded again", 0);
}

static void a_false_number_of_lines_is_bounded_by_the_record(void **state)
{
	struct dump *d = *state;

	put_prefix(&d->bytes, 2, 16 + 18 + 5);
	put64(&d->bytes, 0x1000);
	put64(&d->bytes, UINT64_MAX);
	put_entry(&d->bytes, 0x1000, 7);
	buf_put(&d->bytes, "\1\2\3\4\5", 5);
	put_load(&d->bytes, 0x1000, 16, "f");
	assert_int_equal(feed(d), 0);
	check_code(d->j, 0x1000, "f", 7);
	assert_true(jitdump_bytes(d->j) < 1 << 20);
}

static void a_repeated_file_name_without_a_first_one_is_unknown(void **state)
{
	struct dump *d = *state;
	struct jit_function f;
	const char *file;
	uint32_t line;

	put_prefix(&d->bytes, 2, 16 + 18);
	put64(&d->bytes, 0x1000);
	put64(&d->bytes, 1);
	put64(&d->bytes, 0x1000);
	put32(&d->bytes, 3);
	put32(&d->bytes, 0);
	buf_put(&d->bytes, "\377", 2);
	put_load(&d->bytes, 0x1000, 16, "f");
	assert_int_equal(feed(d), 0);
	assert_int_equal(jitdump_find(d->j, 0x1000, &f, &file, &line), 0);
	assert_string_equal(file, "");
	assert_int_equal(line, 3);
}

static void moves_keep_name_and_lines_and_may_repeat(void **state)
{
	struct dump *d = *state;

	put_lines(&d->bytes, 0x1000);
	put_load(&d->bytes, 0x1000, 0x20, "f");
	put_move(&d->bytes, 0x1000, 0x2000, 0x20);
	put_move(&d->bytes, 0x2000, 0x3000, 0x20);
	put_move(&d->bytes, 0x5000, 0x6000, 0x20);         /* of unknown code */
	put_move(&d->bytes, 0x1004, 0x6000, 0x20);         /* from the middle of a function */
	put_move(&d->bytes, 0x1000, UINT64_MAX - 4, 0x20); /* beyond the address space */
	assert_int_equal(feed(d), 0);
	check_code(d->j, 0x3000, "f", 10);
	check_code(d->j, 0x3008, "f", 20);
	check_code(d->j, 0x6000, NULL, 0);
	check_code(d->j, UINT64_MAX - 2, NULL, 0);
}

static void lines_over_the_limit_are_refused(void **state)
{
	enum { N = 200000 };
	struct dump *d = *state;
	int r = feed(d);

	put_prefix(&d->bytes, 2, 16 + N * 18);
	put64(&d->bytes, 0x1000);
	put64(&d->bytes, N);
	for (uint32_t i = 0; i < N; i++)
		put_entry(&d->bytes, 0x1000 + i, i);
	assert_int_equal(buf_error(&d->bytes), 0);
	for (int i = 0; r == 0 && i <= JITDUMP_LINES_MAX / N; i++)
		r = jitdump_feed(d->j, d->bytes.data, d->bytes.len);
	assert_int_equal(r, -E2BIG);
	assert_true(jitdump_bytes(d->j) < (size_t)JITDUMP_LINES_MAX * 40);
}

/* ---- files --------------------------------------------------------------------- */

static void append(const char *path, const struct buf *b, size_t from, size_t to)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, b->data + from, to - from), to - from);
	close(fd);
}

static void follows_a_file_that_grows(void **state)
{
	int root = open(*state, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct buf b = { 0 };
	struct jitdump *j;
	char path[128];

	assert_true(root >= 0);
	snprintf(path, sizeof(path), "%s/jit-1.dump", (char *)*state);
	make_dump(&b);
	assert_int_equal(jitdump_open_at(&j, root, "/jit-1.dump", geteuid()), -ENOENT);
	append(path, &b, 0, 50);
	assert_int_equal(jitdump_open_at(&j, root, "/jit-1.dump", geteuid()), 0);
	check_code(j, 0x1000, NULL, 0);
	append(path, &b, 50, b.len);
	check_code(j, 0x1000, NULL, 0);
	assert_int_equal(jitdump_refresh(j), 0);
	check_code(j, 0x1000, "f", 10);
	assert_int_equal(truncate(path, 10), 0);
	assert_int_equal(jitdump_refresh(j), 0);
	check_code(j, 0x1000, "f", 10);
	jitdump_free(j);
	buf_fini(&b);
	close(root);
}

static void opens_only_jitdumps_of_the_process_user(void **state)
{
	int root = open(*state, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct buf b = { 0 };
	struct jitdump *j;
	char path[128];

	assert_true(root >= 0);
	snprintf(path, sizeof(path), "%s/jit-1.dump", (char *)*state);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(jitdump_open_at(&j, root, "/jit-1.dump", geteuid()), -ENOENT);
	unlink(path);
	buf_put_str(&b, "text that is at least as long as the header of a jitdump");
	append(path, &b, 0, b.len);
	assert_int_equal(jitdump_open_at(&j, root, "/jit-1.dump", geteuid()), -ENOEXEC);
	unlink(path);
	buf_fini(&b);
	if (geteuid() == 0) {
		make_dump(&b);
		append(path, &b, 0, b.len);
		assert_int_equal(chown(path, 1234, 1234), 0);
		assert_int_equal(jitdump_open_at(&j, root, "/jit-1.dump", 1000), -EPERM);
		assert_int_equal(jitdump_open_at(&j, root, "/jit-1.dump", 1234), 0);
		check_code(j, 0x1000, "f", 10);
		jitdump_free(j);
		buf_fini(&b);
	}
	close(root);
}

#define DUMP_TEST(fn) cmocka_unit_test_setup_teardown(fn, dump_setup, dump_teardown)
#define DIR_TEST(fn)  cmocka_unit_test_setup_teardown(fn, tempdir_make, tempdir_remove)

TEST_GROUP(test_jitdump, TEST(a_jitdump_has_functions_lines_and_moves),
	   TEST(tolerates_a_damaged_jitdump), TEST(refuses_files_that_are_not_jitdumps),
	   TEST(a_header_states_its_own_length),
	   TEST(a_truncated_dump_has_the_functions_of_its_complete_records),
	   DUMP_TEST(a_record_shorter_than_its_prefix_ends_the_dump),
	   DUMP_TEST(records_with_false_lengths_are_skipped),
	   DUMP_TEST(a_function_whose_name_is_too_long_is_skipped),
	   DUMP_TEST(lines_are_sorted_by_address),
	   DUMP_TEST(lines_belong_only_to_the_next_load_of_their_address),
	   DUMP_TEST(a_false_number_of_lines_is_bounded_by_the_record),
	   DUMP_TEST(a_repeated_file_name_without_a_first_one_is_unknown),
	   DUMP_TEST(moves_keep_name_and_lines_and_may_repeat),
	   DUMP_TEST(lines_over_the_limit_are_refused), DIR_TEST(follows_a_file_that_grows),
	   DIR_TEST(opens_only_jitdumps_of_the_process_user))
