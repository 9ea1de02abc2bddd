/* SPDX-License-Identifier: Apache-2.0 */
/* Rows are written by hand; hashes are small numbers. */
#include "store/clickhouse/clickhouse_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "flame/merged_stacks.h"
#include "flame/stack_dict.h"
#include "store/clickhouse/row_binary.h"
#include "tests/test.h"

struct scene {
	struct merged_stacks *to;
	struct clickhouse_stacks s;
	struct buf rows;
};

static void begin(struct scene *t)
{
	*t = (struct scene){ 0 };
	assert_int_equal(merged_stacks_new(&t->to), 0);
	t->s.to = t->to;
}

static void end(struct scene *t)
{
	clickhouse_stacks_fini(&t->s);
	merged_stacks_free(t->to);
	buf_fini(&t->rows);
}

static void put_frame(struct scene *t, uint64_t hash, const char *name)
{
	row_binary_put_u64(&t->rows, hash);
	row_binary_put_bytes(&t->rows, name, strlen(name));
	row_binary_put_bytes(&t->rows, "file.c", 6);
	row_binary_put_bytes(&t->rows, "/bin/app", 8);
	row_binary_put_u32(&t->rows, 12);
	row_binary_put_u32(&t->rows, 3);
}

static void put_stack(struct scene *t, uint64_t hash, const uint64_t *frames, size_t n)
{
	row_binary_put_u64(&t->rows, hash);
	wire_put_varint(&t->rows, n);
	for (size_t i = 0; i < n; i++)
		row_binary_put_u64(&t->rows, frames[i]);
}

/* Reads what was written, and forgets it. */
static int add(struct scene *t, int (*fn)(struct clickhouse_stacks *, struct wire))
{
	int r = fn(&t->s, wire_of(t->rows.data, t->rows.len));

	t->rows.len = 0;
	return r;
}

/* The names of a stack, root first, separated by ";". */
static const char *path_of(struct scene *t, uint64_t hash)
{
	const struct stable *nodes;
	static char text[256];
	char rest[256];
	uint32_t node;

	assert_int_equal(clickhouse_stacks_node(&t->s, hash, &node), 0);
	nodes = stack_dict_nodes(t->to->dict);
	text[0] = '\0';
	for (; node; node = stack_dict_node(nodes, node)->parent) {
		const struct stack_dict_frame *f =
			stack_dict_frame(t->to->dict, stack_dict_node(nodes, node)->frame);

		memcpy(rest, text, sizeof(rest));
		snprintf(text, sizeof(text), "%.50s;%.200s",
			 stack_dict_string(t->to->dict, f->name), rest);
	}
	return text;
}

static void usual(struct scene *t)
{
	begin(t);
	put_frame(t, 11, "main");
	put_frame(t, 12, "f");
	/* Low halves that are equal are different hashes. */
	put_frame(t, 12 | 1ULL << 32, "g");
	put_frame(t, 12, "not the first");
	assert_int_equal(add(t, clickhouse_stacks_add_frames), 0);
	put_stack(t, 1, (const uint64_t[]){ 11, 12 }, 2);
	put_stack(t, 2, (const uint64_t[]){ 11, 12, 12 | 1ULL << 32 }, 3);
	put_stack(t, 3, NULL, 0);
	put_stack(t, 1, (const uint64_t[]){ 12 }, 1);
	assert_int_equal(add(t, clickhouse_stacks_add_stacks), 0);
}

static void stacks_become_paths_that_share_their_beginnings(void **state)
{
	const struct stack_dict_frame *f;
	struct scene t;

	usual(&t);
	assert_string_equal(path_of(&t, 1), "main;f;");
	assert_string_equal(path_of(&t, 2), "main;f;g;");
	assert_string_equal(path_of(&t, 3), "");
	f = stack_dict_frame(t.to->dict, 0);
	assert_int_equal(f->line, 12);
	assert_int_equal(f->kind, 3);
	assert_string_equal(stack_dict_string(t.to->dict, f->file), "file.c");
	assert_string_equal(stack_dict_string(t.to->dict, f->binary), "/bin/app");
	/* main, f and g below one another, and f alone of the row that was not used. */
	assert_int_equal(stack_dict_count(t.to->dict, STACK_DICT_NODES), 1 + 3 + 1);
	end(&t);
}

static void a_stack_that_is_not_known_has_a_frame_that_says_so(void **state)
{
	struct scene t;

	usual(&t);
	assert_string_equal(path_of(&t, 99), "[unknown stack];");
	assert_string_equal(path_of(&t, 100), "[unknown stack];");
	/* The stack without frames. */
	assert_string_equal(path_of(&t, 0), "");
	end(&t);
}

static void a_stack_with_an_unknown_frame_is_skipped_and_the_next_is_not(void **state)
{
	struct scene t;

	usual(&t);
	put_stack(&t, 5, (const uint64_t[]){ 11, 77, 12, 12 }, 4);
	put_stack(&t, 6, (const uint64_t[]){ 12, 78 }, 2);
	put_stack(&t, 7, (const uint64_t[]){ 12, 11 }, 2);
	assert_int_equal(add(&t, clickhouse_stacks_add_stacks), 0);
	assert_string_equal(path_of(&t, 5), "[unknown stack];");
	assert_string_equal(path_of(&t, 6), "[unknown stack];");
	assert_string_equal(path_of(&t, 7), "f;main;");
	end(&t);
}

/* Reads every beginning of the rows; only those that end with a row are whole. */
static void assert_truncated_rows_are_refused(int (*fn)(struct clickhouse_stacks *, struct wire),
					      const struct buf *rows, size_t row)
{
	for (size_t len = 0; len < rows->len; len++) {
		uint8_t *copy = malloc(len + !len);
		struct scene t;

		assert_non_null(copy);
		memcpy(copy, rows->data, len);
		begin(&t);
		assert_int_equal(fn(&t.s, wire_of(copy, len)), len % row ? -EBADMSG : 0);
		end(&t);
		free(copy);
	}
}

static void truncated_rows_are_refused(void **state)
{
	struct scene t;

	begin(&t);
	put_frame(&t, 1, "aaaa");
	put_frame(&t, 2, "bbbb");
	assert_truncated_rows_are_refused(clickhouse_stacks_add_frames, &t.rows, t.rows.len / 2);
	t.rows.len = 0;
	put_stack(&t, 1, (const uint64_t[]){ 11, 12 }, 2);
	put_stack(&t, 2, (const uint64_t[]){ 11, 12 }, 2);
	assert_truncated_rows_are_refused(clickhouse_stacks_add_stacks, &t.rows, t.rows.len / 2);
	end(&t);
}

static void lengths_beyond_the_rows_are_refused(void **state)
{
	static const uint64_t lengths[] = { 3, 1 << 20, UINT64_MAX / 8 + 1, UINT64_MAX };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct scene t;

		begin(&t);
		row_binary_put_u64(&t.rows, 1);
		wire_put_varint(&t.rows, lengths[i]);
		row_binary_put_u64(&t.rows, 1);
		assert_int_equal(add(&t, clickhouse_stacks_add_stacks), -EBADMSG);
		row_binary_put_u64(&t.rows, 1);
		wire_put_varint(&t.rows, lengths[i]);
		assert_int_equal(add(&t, clickhouse_stacks_add_frames), -EBADMSG);
		end(&t);
	}
}

TEST_GROUP(test_clickhouse_stacks, TEST(stacks_become_paths_that_share_their_beginnings),
	   TEST(a_stack_that_is_not_known_has_a_frame_that_says_so),
	   TEST(a_stack_with_an_unknown_frame_is_skipped_and_the_next_is_not),
	   TEST(truncated_rows_are_refused), TEST(lengths_beyond_the_rows_are_refused))
