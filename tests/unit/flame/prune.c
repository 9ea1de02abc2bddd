/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/prune.h"

#include <stdlib.h>
#include <string.h>

#include "codec/page/page_json.h"
#include "tests/test.h"

static int cmp_falling(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x > y ? -1 : x < y;
}

static void the_kth_greatest_is_where_sorting_puts_it(void **state)
{
	uint32_t seed = 1;

	for (size_t n = 1; n < 60; n++) {
		for (size_t k = 1; k <= n; k++) {
			int64_t v[60], sorted[60];

			for (size_t i = 0; i < n; i++) {
				seed = seed * 1664525 + 1013904223;
				v[i] = seed >> 16 & (n % 3 ? 7 : 0xffff);
			}
			memcpy(sorted, v, sizeof(v));
			qsort(sorted, n, sizeof(*sorted), cmp_falling);
			assert_int_equal(prune_kth_greatest(v, n, k), sorted[k - 1]);
		}
	}
}

/* 0 -> 1 (a: 1) -> 2 (b: 10), 3 (c: 2) -> 4 (d: 1), 5 (e: 3) */
static struct page_tree tree(const int64_t *self)
{
	static const uint32_t parents[] = { PAGE_NONE, 0, 1, 1, 3, 1 };
	static const char *const names[] = { "a", "b", "c", "d", "e" };
	struct page_tree t = { 0 };

	for (size_t i = 0; i < 5; i++)
		assert_int_equal(vec_push(&t.frames, (struct page_frame){ .name = names[i],
									  .file = "",
									  .binary = "",
									  .kind = "native" }),
				 0);
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(
			vec_push(&t.nodes,
				 (struct page_node){ parents[i], i ? i - 1 : PAGE_NONE, self[i] }),
			0);
	return t;
}

static void check_node(const struct page_tree *t, size_t i, uint32_t parent, const char *name,
		       int64_t self)
{
	const struct page_node *n = &t->nodes.data[i];

	assert_int_equal(n->parent, parent);
	assert_string_equal(t->frames.data[n->frame].name, name);
	assert_int_equal(n->self, self);
}

static void pruned_nodes_become_one_child_of_their_parent(void **state)
{
	struct page_tree t = tree((int64_t[]){ 0, 1, 10, 2, 1, 3 });
	struct page_tree *trees[] = { &t };

	assert_int_equal(prune_trees(trees, 1, 2), 0);
	assert_int_equal(t.nodes.len, 4);
	check_node(&t, 1, 0, "a", 1);
	check_node(&t, 2, 1, "b", 10);
	check_node(&t, 3, 1, "other", 6);
	assert_string_equal(t.frames.data[t.nodes.data[3].frame].kind, "other");
	page_tree_fini(&t);
}

static void two_trees_are_pruned_at_the_same_places(void **state)
{
	struct page_tree a = tree((int64_t[]){ 0, 1, 10, 0, 0, 0 });
	struct page_tree b = tree((int64_t[]){ 0, 0, 0, 2, 1, 3 });
	struct page_tree *trees[] = { &a, &b };

	assert_int_equal(prune_trees(trees, 2, 2), 0);
	assert_int_equal(a.nodes.len, 4);
	assert_int_equal(b.nodes.len, 4);
	check_node(&a, 2, 1, "b", 10);
	check_node(&b, 2, 1, "b", 0);
	check_node(&a, 3, 1, "other", 0);
	check_node(&b, 3, 1, "other", 6);
	page_tree_fini(&a);
	page_tree_fini(&b);
}

static void a_small_tree_loses_only_empty_nodes(void **state)
{
	struct page_tree t = tree((int64_t[]){ 0, 1, 10, 0, 0, 3 });
	struct page_tree *trees[] = { &t };

	assert_int_equal(prune_trees(trees, 1, 100), 0);
	assert_int_equal(t.nodes.len, 4);
	check_node(&t, 3, 1, "e", 3);
	page_tree_fini(&t);
}

/* All nodes of a chain have the same total, as have all chains. */
static void of_equal_nodes_the_upper_are_retained(void **state)
{
	struct page_tree t = { 0 };
	struct page_tree *trees[] = { &t };
	const struct page_frame f = { .name = "f", .file = "", .binary = "", .kind = "native" };

	assert_int_equal(vec_push(&t.frames, f), 0);
	assert_int_equal(vec_push(&t.nodes, (struct page_node){ PAGE_NONE, PAGE_NONE, 0 }), 0);
	for (uint32_t chain = 0; chain < 4; chain++)
		for (uint32_t k = 0; k < 5; k++) {
			struct page_node n = { k ? (uint32_t)t.nodes.len - 1 : 0, 0, k == 4 };

			assert_int_equal(vec_push(&t.nodes, n), 0);
		}
	assert_int_equal(prune_trees(trees, 1, 9), 0);
	assert_int_equal(t.nodes.len,
			 1 + 8 + 4); /* two nodes of each chain, and one for its pruned rest */
	for (uint32_t i = 9; i < 13; i++) {
		assert_int_equal(t.nodes.data[i].self, 1);
		assert_string_equal(t.frames.data[t.nodes.data[i].frame].kind, "other");
	}
	page_tree_fini(&t);
}

TEST_GROUP(test_prune, TEST(of_equal_nodes_the_upper_are_retained),
	   TEST(the_kth_greatest_is_where_sorting_puts_it),
	   TEST(pruned_nodes_become_one_child_of_their_parent),
	   TEST(two_trees_are_pruned_at_the_same_places), TEST(a_small_tree_loses_only_empty_nodes))
