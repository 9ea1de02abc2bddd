/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/stack_dict.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "flame/merged_stacks.h"
#include "tests/test.h"

static uint32_t add_string(struct stack_dict *d, const char *s)
{
	uint32_t id;

	assert_int_equal(stack_dict_add_string(d, s, strlen(s), &id), 0);
	return id;
}

/* The node of a frame @name below @parent. */
static uint32_t add_node(struct stack_dict *d, uint32_t parent, const char *name)
{
	struct stack_dict_frame f = { .name = add_string(d, name), .line = 3, .kind = 2 };
	uint32_t frame, node;

	assert_int_equal(stack_dict_add_frame(d, &f, &frame), 0);
	assert_int_equal(stack_dict_add_node(d, parent, frame, &node), 0);
	return node;
}

static const char *node_name(const struct stack_dict *d, uint32_t node)
{
	return stack_dict_string(
		d, stack_dict_frame(d, stack_dict_node(stack_dict_nodes(d), node)->frame)->name);
}

static void equal_entries_have_one_id(void **state)
{
	const uint32_t words[] = { 1, 2, 3 };
	_cleanup_(stack_dict_freep) struct stack_dict *d = NULL;
	uint32_t main_node, series[2];

	assert_int_equal(stack_dict_new(&d), 0);
	main_node = add_node(d, 0, "main");
	assert_int_equal(add_node(d, 0, "main"), main_node);
	assert_int_not_equal(add_node(d, main_node, "main"), main_node);
	assert_int_equal(stack_dict_add_series(d, words, 3, &series[0]), 0);
	assert_int_equal(stack_dict_add_series(d, words, 3, &series[1]), 0);
	assert_int_equal(series[0], series[1]);
	assert_int_equal(stack_dict_count(d, STACK_DICT_NODES), 3);
}

static void chunks_restore_the_dictionary(void **state)
{
	_cleanup_(stack_dict_freep) struct stack_dict *d = NULL, *copy = NULL;
	uint32_t saved[STACK_DICT_KIND_MAX], leaf = 0, end;

	assert_int_equal(stack_dict_new(&d), 0);
	assert_int_equal(stack_dict_new(&copy), 0);
	for (int k = 0; k < STACK_DICT_KIND_MAX; k++)
		saved[k] = stack_dict_count(d, k);
	for (int round = 0; round < 2; round++) {
		leaf = add_node(d, leaf, round ? "serve" : "main");
		for (int k = 0; k < STACK_DICT_KIND_MAX; k++) {
			_cleanup_(buf_fini) struct buf chunk = { 0 };

			if (stack_dict_count(d, k) == saved[k])
				continue;
			assert_int_equal(stack_dict_write(d, k, saved[k], &chunk, &end), 0);
			assert_int_equal(end, stack_dict_count(d, k));
			assert_int_equal(stack_dict_read(copy, k, chunk.data, chunk.len), 0);
			saved[k] = stack_dict_count(d, k);
		}
	}
	assert_string_equal(node_name(copy, leaf), "serve");
	assert_string_equal(node_name(copy, stack_dict_node(stack_dict_nodes(copy), leaf)->parent),
			    "main");
}

/* Names of 100 MB become several chunks, all of which can be read. */
static void large_dictionaries_are_written_in_parts(void **state)
{
	enum { N = 100, LEN = 1 << 20 };
	_cleanup_(stack_dict_freep) struct stack_dict *d = NULL, *copy = NULL;
	char *name = malloc(LEN);
	uint32_t id, at = 1, end;
	int n = 0;

	assert_non_null(name);
	memset(name, 'x', LEN);
	assert_int_equal(stack_dict_new(&d), 0);
	assert_int_equal(stack_dict_new(&copy), 0);
	for (int i = 0; i < N; i++) {
		snprintf(name, LEN, "%d", i);
		assert_int_equal(stack_dict_add_string(d, name, LEN, &id), 0);
	}
	for (; at < stack_dict_count(d, STACK_DICT_STRINGS); at = end, n++) {
		_cleanup_(buf_fini) struct buf chunk = { 0 };

		assert_int_equal(stack_dict_write(d, STACK_DICT_STRINGS, at, &chunk, &end), 0);
		assert_true(end > at);
		assert_int_equal(stack_dict_read(copy, STACK_DICT_STRINGS, chunk.data, chunk.len),
				 0);
	}
	assert_true(n > 2);
	assert_int_equal(stack_dict_count(copy, STACK_DICT_STRINGS), N + 1);
	free(name);
}

static void a_damaged_chunk_is_refused(void **state)
{
	_cleanup_(stack_dict_freep) struct stack_dict *d = NULL, *empty = NULL;
	_cleanup_(buf_fini) struct buf chunk = { 0 }, strings = { 0 };
	uint32_t end;

	assert_int_equal(stack_dict_new(&d), 0);
	assert_int_equal(stack_dict_new(&empty), 0);
	add_node(d, 0, "main");
	assert_int_equal(stack_dict_write(d, STACK_DICT_NODES, 1, &chunk, &end), 0);
	/* the frames that the nodes refer to are missing */
	assert_int_equal(stack_dict_read(empty, STACK_DICT_NODES, chunk.data, chunk.len), -EBADMSG);
	for (size_t len = 0; len < chunk.len; len++)
		assert_int_equal(stack_dict_read(d, STACK_DICT_NODES, chunk.data, len), -EBADMSG);
	/* an entry that exists already would shift all later ids */
	assert_int_equal(stack_dict_write(d, STACK_DICT_STRINGS, 1, &strings, &end), 0);
	assert_int_equal(stack_dict_read(d, STACK_DICT_STRINGS, strings.data, strings.len),
			 -EBADMSG);
}

static void merged_values_follow_their_stacks(void **state)
{
	static const char *const site[] = { "main", "serve" };
	_cleanup_(stack_dict_freep) struct stack_dict *d = NULL;
	_cleanup_(merged_stacks_freep) struct merged_stacks *s = NULL, *grouped = NULL;
	uint32_t main_node, serve, gc;
	int64_t self[4] = { 0 };

	assert_int_equal(stack_dict_new(&d), 0);
	main_node = add_node(d, 0, "main");
	serve = add_node(d, main_node, "serve");
	gc = add_node(d, main_node, "gc");
	self[serve] = 5;
	self[gc] = INT64_MAX;
	assert_int_equal(merged_stacks_new(&s), 0);
	assert_int_equal(merged_stacks_add(s, d, self, 4, false), 0);
	assert_int_equal(merged_stacks_add(s, d, self, 4, false), 0);
	assert_int_equal(s->n, 4);
	assert_true(s->total == INT64_MAX);
	assert_int_equal(merged_stacks_filter_call_site(s, site, 2), 0);
	assert_int_equal(s->total, 10);
	assert_int_equal(merged_stacks_new(&grouped), 0);
	assert_int_equal(merged_stacks_add_subtree(grouped, "eu", s), 0);
	assert_int_equal(grouped->total, 10);
	assert_string_equal(node_name(grouped->dict, 1), "eu");
}

TEST_GROUP(test_stack_dict, TEST(equal_entries_have_one_id), TEST(chunks_restore_the_dictionary),
	   TEST(large_dictionaries_are_written_in_parts), TEST(a_damaged_chunk_is_refused),
	   TEST(merged_values_follow_their_stacks))
