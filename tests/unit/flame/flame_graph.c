/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/flame_graph.h"

#include <stdio.h>
#include <string.h>

#include "flame/merged_stacks.h"
#include "flame/stack_dict.h"
#include "tests/test.h"

static void add(struct merged_stacks *s, const char *path, int64_t value)
{
	_cleanup_(freep) char *copy = strdup(path);
	struct stack_dict *day = NULL;
	int64_t self[16] = { 0 };
	uint32_t node = 0;

	assert_int_equal(stack_dict_new(&day), 0);
	for (char *rest = copy, *name; (name = strsep(&rest, ";"));) {
		struct stack_dict_frame f = { 0 };
		uint32_t frame;

		assert_int_equal(stack_dict_add_string(day, name, strlen(name), &f.name), 0);
		assert_int_equal(stack_dict_add_frame(day, &f, &frame), 0);
		assert_int_equal(stack_dict_add_node(day, node, frame, &node), 0);
	}
	self[node] = value;
	assert_int_equal(merged_stacks_add(s, day, self, node + 1, true), 0);
	stack_dict_free(day);
}

/* The "shop" profile of Pyroscope's contract. */
static struct merged_stacks *shop(void)
{
	struct merged_stacks *s = NULL;

	assert_int_equal(merged_stacks_new(&s), 0);
	add(s, "main;serve", 2);
	add(s, "main;serve;parse", 7);
	add(s, "main;serve;query", 6);
	add(s, "main;serve;query;lock", 5);
	add(s, "main;gc", 1);
	return s;
}

static const char *text_of(const struct merged_stacks *s, uint32_t max_nodes)
{
	static char text[2000];
	struct flame_tree shown = { 0 };
	struct flame_graph f = { 0 };
	size_t len = 0;

	assert_int_equal(flame_tree_build(&shown, s, max_nodes), 0);
	assert_int_equal(flame_graph_build(&f, &shown), 0);
	for (size_t i = 0; i < f.levels.len; i++) {
		for (size_t k = 0; k < f.levels.data[i].len; k++) {
			const struct flame_graph_bar *b = &f.levels.data[i].data[k];

			len += (size_t)snprintf(text + len, sizeof(text) - len, "%d,%d,%d,%s ",
						(int)b->side[0].offset, (int)b->side[0].total,
						(int)b->side[0].self, f.names.data[b->name]);
		}
		len += (size_t)snprintf(text + len, sizeof(text) - len, "/ ");
	}
	snprintf(text + len, sizeof(text) - len, "%d %d", (int)f.total, (int)f.max_self);
	flame_graph_fini(&f);
	flame_tree_fini(&shown);
	return text;
}

static void bars_are_where_the_contract_has_them(void **state)
{
	_cleanup_(merged_stacks_freep) struct merged_stacks *s = shop();

	assert_string_equal(text_of(s, 100), "0,21,0,total / 0,21,0,main / 0,1,1,gc 0,20,2,serve / "
					     "3,7,7,parse 0,11,6,query / 16,5,5,lock / 21 7");
}

static void pruned_nodes_are_in_other_and_the_total_is_exact(void **state)
{
	_cleanup_(merged_stacks_freep) struct merged_stacks *s = shop();

	assert_string_equal(text_of(s, 3),
			    "0,21,0,total / 0,21,0,main / 0,20,2,serve 0,1,1,other / "
			    "2,11,6,query 0,7,7,other / 8,5,5,other / 21 7");
}

static void only_stacks_of_the_call_site_count(void **state)
{
	static const char *const site[] = { "main", "serve", "query" };
	_cleanup_(merged_stacks_freep) struct merged_stacks *s = shop();

	assert_int_equal(merged_stacks_filter_call_site(s, site, 3), 0);
	assert_int_equal(s->total, 11);
	assert_string_equal(text_of(s, 9), "0,11,0,total / 0,11,0,main / 0,11,0,serve / "
					   "0,11,6,query / 6,5,5,lock / 11 6");
}

static void an_empty_profile_is_one_empty_bar(void **state)
{
	_cleanup_(merged_stacks_freep) struct merged_stacks *s = NULL;

	assert_int_equal(merged_stacks_new(&s), 0);
	assert_string_equal(text_of(s, 9), "0,0,0,total / 0 0");
}

TEST_GROUP(test_flame_graph, TEST(bars_are_where_the_contract_has_them),
	   TEST(pruned_nodes_are_in_other_and_the_total_is_exact),
	   TEST(only_stacks_of_the_call_site_count), TEST(an_empty_profile_is_one_empty_bar))
