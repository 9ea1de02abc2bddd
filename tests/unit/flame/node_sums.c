/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of a few of many nodes become the same stacks as an array of all nodes. */
#include "flame/node_sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flame/merged_stacks.h"
#include "flame/stack_dict.h"
#include "tests/test.h"

enum { N_NODES = 5000 };

/* A random tree: a parent may be in any group before its child's. */
static struct stack_dict *make_tree(unsigned int *seed)
{
	struct stack_dict *d = NULL;

	assert_int_equal(stack_dict_new(&d), 0);
	for (uint32_t i = 1; i < N_NODES; i++) {
		struct stack_dict_frame frame = { 0 };
		uint32_t id, node;
		char name[16];
		int n = snprintf(name, sizeof(name), "f%u", i);

		assert_int_equal(stack_dict_add_string(d, name, (size_t)n, &frame.name), 0);
		assert_int_equal(stack_dict_add_frame(d, &frame, &id), 0);
		assert_int_equal(stack_dict_add_node(d, (uint32_t)rand_r(seed) % i, id, &node), 0);
		assert_int_equal(node, i);
	}
	return d;
}

static void assert_equal(const struct merged_stacks *a, const struct merged_stacks *b)
{
	assert_int_equal(a->n, b->n);
	assert_true(a->total == b->total);
	assert_memory_equal(a->self, b->self, a->n * sizeof(*a->self));
	for (uint32_t i = 1; i < a->n; i++) {
		const struct stack_dict_node *x = stack_dict_node(stack_dict_nodes(a->dict), i);
		const struct stack_dict_node *y = stack_dict_node(stack_dict_nodes(b->dict), i);

		assert_int_equal(x->parent, y->parent);
		assert_string_equal(
			stack_dict_string(a->dict, stack_dict_frame(a->dict, x->frame)->name),
			stack_dict_string(b->dict, stack_dict_frame(b->dict, y->frame)->name));
	}
}

static void few_nodes_become_the_same_stacks_as_all(void **state)
{
	for (unsigned int seed = 1; seed < 20; seed++) {
		unsigned int random = seed;
		_cleanup_(stack_dict_freep) struct stack_dict *d = make_tree(&random);
		_cleanup_(node_sums_fini) struct node_sums sums = { 0 };
		_cleanup_(merged_stacks_freep) struct merged_stacks *few = NULL, *all = NULL;
		int64_t self[N_NODES] = { 0 };

		for (size_t room = N_NODES / 3; room <= N_NODES; room += N_NODES / 3 + 1) {
			assert_int_equal(node_sums_reserve(&sums, room), 0);
			for (int i = rand_r(&random) % 40; i > 0; i--) {
				uint32_t node = (uint32_t)rand_r(&random) % (uint32_t)room;

				node_sums_add(&sums, node, i);
				self[node] += i;
			}
		}
		assert_int_equal(merged_stacks_new(&few), 0);
		assert_int_equal(merged_stacks_new(&all), 0);
		assert_int_equal(merged_stacks_add_sums(few, d, &sums, false), 0);
		assert_int_equal(merged_stacks_add(all, d, self, sums.n, false), 0);
		assert_equal(few, all);
	}
}

static void room_is_never_taken_away(void **state)
{
	_cleanup_(node_sums_fini) struct node_sums sums = { 0 };

	assert_int_equal(node_sums_reserve(&sums, 65), 0);
	node_sums_add(&sums, 64, 7);
	assert_int_equal(node_sums_reserve(&sums, 1), 0);
	assert_int_equal(sums.n, 65);
	assert_int_equal(node_sums_reserve(&sums, 1000), 0);
	assert_true(sums.values[64] == 7 && sums.used[1] && !sums.used[0]);
}

TEST_GROUP(test_node_sums, TEST(few_nodes_become_the_same_stacks_as_all),
	   TEST(room_is_never_taken_away))
