/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/flame_tree.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "flame/merged_stacks.h"
#include "flame/profile_pair.h"
#include "flame/stack_dict.h"
#include "tests/test.h"

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 16;
}

/* A tree of random shape with @n nodes whose names repeat. */
static struct merged_stacks *make_stacks(uint32_t seed, uint32_t n)
{
	struct merged_stacks *s = NULL;

	assert_int_equal(merged_stacks_new(&s), 0);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t parent = next(&seed) % stack_dict_count(s->dict, STACK_DICT_NODES), frame;
		char name[3] = { (char)('a' + next(&seed) % 7), (char)('a' + next(&seed) % 3), 0 };
		struct stack_dict_frame f = { 0 };
		uint32_t node;

		assert_int_equal(stack_dict_add_string(s->dict, name, 2, &f.name), 0);
		assert_int_equal(stack_dict_add_frame(s->dict, &f, &frame), 0);
		assert_int_equal(stack_dict_add_node(s->dict, parent, frame, &node), 0);
		assert_int_equal(merged_stacks_add_value(s, node, next(&seed) % 50), 0);
	}
	return s;
}

/* The total of each node by its definition. */
static void naive_totals(const struct merged_stacks *s, const int64_t *self, int64_t *out)
{
	const struct stable *nodes = stack_dict_nodes(s->dict);

	memset(out, 0, s->n * sizeof(*out));
	for (uint32_t i = 0; i < s->n; i++)
		for (uint32_t k = i;; k = stack_dict_node(nodes, k)->parent) {
			out[k] += self[i];
			if (!k)
				break;
		}
}

static const char *name_of(const struct flame_tree *t, uint32_t node)
{
	return stack_dict_string(t->dict, flame_tree_name(t, node));
}

/*
 * Checks the shown part of the tree from @node down: children are sorted by name, and a node's
 * total is its own value, its children's totals and what was pruned. Returns the number of nodes.
 */
static size_t check_tree(const struct flame_tree *t, uint32_t node, const struct merged_stacks *s,
			 const int64_t *const *totals)
{
	size_t n = 1;

	for (size_t side = 0; side < t->n_sides; side++) {
		int64_t sum = t->self[side][node] + t->other[side][node];

		assert_int_equal(t->total[side][node], totals[side][node]);
		for (uint32_t i = t->first[node]; i < t->first[node + 1]; i++)
			sum += t->total[side][t->children[i]];
		assert_int_equal(sum, t->total[side][node]);
	}
	for (uint32_t i = t->first[node]; i < t->first[node + 1]; i++) {
		uint32_t child = t->children[i];

		assert_int_equal(stack_dict_node(stack_dict_nodes(s->dict), child)->parent, node);
		if (i > t->first[node])
			assert_true(strcmp(name_of(t, t->children[i - 1]), name_of(t, child)) < 0);
		n += check_tree(t, child, s, totals);
	}
	return n;
}

static void totals_are_exact_wherever_the_tree_is_cut(void **state)
{
	static const uint32_t limits[] = { 1, 2, 10, 100, 100000 };

	for (uint32_t seed = 1; seed < 10; seed++) {
		_cleanup_(merged_stacks_freep) struct merged_stacks *s = make_stacks(seed, 400);
		_cleanup_(freep) int64_t *totals = malloc(s->n * sizeof(*totals));
		size_t before = 0;

		naive_totals(s, s->self, totals);
		for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
			_cleanup_(flame_tree_fini) struct flame_tree t = { 0 };
			size_t n;

			assert_int_equal(flame_tree_build(&t, s, limits[i]), 0);
			n = check_tree(&t, 0, s, (const int64_t *[]){ totals });
			assert_int_equal(t.total[0][0], s->total);
			assert_true(n >= before);
			before = n;
		}
		/* without a limit, only nodes without any value are missing */
		for (uint32_t i = 0; i < s->n; i++)
			before -= totals[i] != 0;
		assert_int_equal(before, 0);
	}
}

/*
 * The nodes that are retained have the greatest totals: the least of them is not below any other.
 */
static void the_nodes_with_the_greatest_totals_are_retained(void **state)
{
	_cleanup_(merged_stacks_freep) struct merged_stacks *s = make_stacks(3, 300);
	_cleanup_(freep) int64_t *totals = malloc(s->n * sizeof(*totals));
	_cleanup_(freep) bool *shown = calloc(s->n, sizeof(*shown));
	_cleanup_(flame_tree_fini) struct flame_tree t = { 0 };
	int64_t least = INT64_MAX, greatest = 0;

	naive_totals(s, s->self, totals);
	assert_int_equal(flame_tree_build(&t, s, 50), 0);
	shown[0] = true;
	for (uint32_t node = 0; node < t.n; node++)
		for (uint32_t i = t.first[node]; i < t.first[node + 1]; i++)
			shown[t.children[i]] = shown[t.children[i]] || shown[node];
	for (uint32_t i = 0; i < s->n; i++) {
		if (shown[i] && totals[i] < least)
			least = totals[i];
		if (!shown[i] && totals[i] > greatest)
			greatest = totals[i];
	}
	assert_true(least >= greatest);
}

static void a_pair_has_totals_on_both_sides(void **state)
{
	_cleanup_(merged_stacks_freep) struct merged_stacks *a = make_stacks(1, 200);
	_cleanup_(merged_stacks_freep) struct merged_stacks *b = make_stacks(2, 100);
	_cleanup_(profile_pair_fini) struct profile_pair pair = { 0 };
	_cleanup_(freep) int64_t *left = NULL, *right = NULL;

	assert_int_equal(profile_pair_build(&pair, a, b), 0);
	left = malloc(pair.both->n * sizeof(*left));
	right = malloc(pair.both->n * sizeof(*right));
	naive_totals(pair.both, pair.self[PROFILE_PAIR_LEFT], left);
	naive_totals(pair.both, pair.self[PROFILE_PAIR_RIGHT], right);
	assert_int_equal(left[0], a->total);
	assert_int_equal(right[0], b->total);
	for (uint32_t max = 1; max < 300; max += 60) {
		_cleanup_(flame_tree_fini) struct flame_tree t = { 0 };

		assert_int_equal(flame_tree_build_pair(&t, &pair, max), 0);
		assert_int_equal(t.n_sides, 2);
		check_tree(&t, 0, pair.both, (const int64_t *[]){ left, right });
	}
}

static void an_empty_merge_is_a_root(void **state)
{
	_cleanup_(merged_stacks_freep) struct merged_stacks *s = make_stacks(1, 0);
	_cleanup_(flame_tree_fini) struct flame_tree t = { 0 };

	assert_int_equal(flame_tree_build(&t, s, 8192), 0);
	assert_int_equal(t.first[0], t.first[1]);
	assert_int_equal(t.total[0][0], 0);
	assert_int_equal(flame_tree_name(&t, 0), 0);
}

TEST_GROUP(test_flame_tree, TEST(totals_are_exact_wherever_the_tree_is_cut),
	   TEST(the_nodes_with_the_greatest_totals_are_retained),
	   TEST(a_pair_has_totals_on_both_sides), TEST(an_empty_merge_is_a_root))
