/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges are compared with a model that knows stacks only as texts: a list of lines "a;b;c" with
 * the sum of their values.
 */
#include "flame/merged_stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "flame/stack_dict.h"
#include "tests/test.h"

enum { MODEL_MAX = 512, DEPTH = 5, NAMES = 4, TEXT_CAP = 80 };

struct model {
	struct {
		char stack[TEXT_CAP];
		int64_t sum;
	} lines[MODEL_MAX];
	size_t n;
};

static void model_add(struct model *m, const char *stack, int64_t value)
{
	size_t i = 0;

	while (i < m->n && strcmp(m->lines[i].stack, stack) != 0)
		i++;
	assert_true(i < MODEL_MAX);
	if (i == m->n)
		snprintf(m->lines[m->n++].stack, sizeof(m->lines[i].stack), "%s", stack);
	m->lines[i].sum += value;
}

/* The text of a node's stack, with the file of each frame unless it is empty. */
static void node_text(const struct stack_dict *d, uint32_t node, char *out, size_t cap)
{
	const struct stack_dict_node n = *stack_dict_node(stack_dict_nodes(d), node);
	const struct stack_dict_frame *f;
	size_t len;

	out[0] = 0;
	if (!node)
		return;
	node_text(d, n.parent, out, cap);
	f = stack_dict_frame(d, n.frame);
	len = strlen(out);
	snprintf(out + len, cap - len, "%s%s%s", len ? ";" : "", stack_dict_string(d, f->name),
		 stack_dict_string(d, f->file));
}

/* Every node with a value is a line of the model, and the other way round. */
static void assert_model(const struct merged_stacks *s, const struct model *m)
{
	struct model got = { 0 };
	int64_t total = 0;
	char text[TEXT_CAP];

	for (uint32_t i = 0; i < s->n; i++) {
		if (!s->self[i])
			continue;
		node_text(s->dict, i, text, sizeof(text));
		model_add(&got, text, s->self[i]);
		total += s->self[i];
	}
	assert_int_equal(s->total, total);
	for (size_t i = 0; i < m->n; i++)
		model_add(&got, m->lines[i].stack, -m->lines[i].sum);
	for (size_t i = 0; i < got.n; i++)
		if (got.lines[i].sum)
			fail_msg("%s differs by %" PRId64, got.lines[i].stack, got.lines[i].sum);
}

static uint32_t add_node(struct stack_dict *d, uint32_t parent, const char *name, const char *file)
{
	struct stack_dict_frame f = { 0 };
	uint32_t frame, node;

	assert_int_equal(stack_dict_add_string(d, name, strlen(name), &f.name), 0);
	assert_int_equal(stack_dict_add_string(d, file, strlen(file), &f.file), 0);
	assert_int_equal(stack_dict_add_frame(d, &f, &frame), 0);
	assert_int_equal(stack_dict_add_node(d, parent, frame, &node), 0);
	return node;
}

/* A dictionary of random stacks with values by node, which are added to the models too. */
struct part {
	struct stack_dict *dict;
	int64_t self[MODEL_MAX];
	size_t n;
};

static void part_fini(struct part *p)
{
	stack_dict_free(p->dict);
}

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 16;
}

static void make_part(struct part *p, uint32_t *seed, struct model *full, struct model *names)
{
	*p = (struct part){ 0 };
	assert_int_equal(stack_dict_new(&p->dict), 0);
	for (int i = 0; i < 40; i++) {
		char text[TEXT_CAP] = "", by_name[TEXT_CAP] = "";
		uint32_t node = 0, depth = next(seed) % (DEPTH + 1);
		int64_t value = (int64_t)(next(seed) % 100) + 1;

		for (uint32_t k = 0; k < depth; k++) {
			char name[2] = { (char)('a' + next(seed) % NAMES), 0 };
			const char *file = next(seed) % 2 ? "1" : "2";
			size_t at = strlen(text), at_name = strlen(by_name);

			node = add_node(p->dict, node, name, file);
			snprintf(text + at, sizeof(text) - at, "%s%s%s", k ? ";" : "", name, file);
			snprintf(by_name + at_name, sizeof(by_name) - at_name, "%s%s", k ? ";" : "",
				 name);
		}
		p->self[node] += value;
		model_add(full, text, value);
		model_add(names, by_name, value);
	}
	p->n = stack_dict_count(p->dict, STACK_DICT_NODES);
}

static void sums_equal_those_of_all_parts(void **state)
{
	for (uint32_t seed = 1; seed < 30; seed++) {
		_cleanup_(merged_stacks_freep) struct merged_stacks *s = NULL, *by_name = NULL;
		struct model full = { 0 }, names = { 0 };
		uint32_t random = seed;

		assert_int_equal(merged_stacks_new(&s), 0);
		assert_int_equal(merged_stacks_new(&by_name), 0);
		for (int i = 0; i < 3; i++) {
			struct part p;

			make_part(&p, &random, &full, &names);
			assert_int_equal(merged_stacks_add(s, p.dict, p.self, p.n, false), 0);
			assert_int_equal(merged_stacks_add(by_name, p.dict, p.self, p.n, true), 0);
			part_fini(&p);
		}
		assert_model(s, &full);
		assert_model(by_name, &names);
	}
}

static void an_empty_merge_has_a_root_without_value(void **state)
{
	_cleanup_(merged_stacks_freep) struct merged_stacks *s = NULL;
	const struct model none = { 0 };

	assert_int_equal(merged_stacks_new(&s), 0);
	assert_int_equal(s->n, 1);
	assert_model(s, &none);
	assert_int_equal(merged_stacks_add(s, s->dict, s->self, 0, false), 0);
	assert_model(s, &none);
}

/* Nodes that have no value and none below them are not copied. */
static void each_node_is_mapped_to_what_it_became(void **state)
{
	_cleanup_(merged_stacks_freep) struct merged_stacks *s = NULL;
	_cleanup_(stack_dict_freep) struct stack_dict *d = NULL;
	_cleanup_(freep) uint32_t *nodes = NULL;
	uint32_t a, b, c, unused;
	int64_t self[5] = { 0 };
	char text[TEXT_CAP];

	assert_int_equal(stack_dict_new(&d), 0);
	unused = add_node(d, 0, "unused", "");
	a = add_node(d, 0, "a", "");
	b = add_node(d, a, "b", "");
	c = add_node(d, a, "c", "");
	self[b] = 3;
	self[c] = 4;
	assert_int_equal(unused, 1);
	assert_int_equal(merged_stacks_new(&s), 0);
	assert_int_equal(merged_stacks_add_mapped(s, d, self, 5, &nodes), 0);
	assert_int_equal(s->n, 4);
	node_text(s->dict, nodes[a], text, sizeof(text));
	assert_string_equal(text, "a");
	node_text(s->dict, nodes[c], text, sizeof(text));
	assert_string_equal(text, "a;c");
	assert_int_equal(merged_stacks_add_value(s, nodes[c], 10), 0);
	assert_int_equal(s->self[nodes[c]], 14);
	assert_int_equal(s->total, 17);
}

static void sums_stop_at_the_greatest_number(void **state)
{
	_cleanup_(merged_stacks_freep) struct merged_stacks *s = NULL;
	_cleanup_(stack_dict_freep) struct stack_dict *d = NULL;
	int64_t self[2] = { 0, INT64_MAX - 5 };

	assert_int_equal(stack_dict_new(&d), 0);
	add_node(d, 0, "a", "");
	assert_int_equal(merged_stacks_new(&s), 0);
	assert_int_equal(merged_stacks_add(s, d, self, 2, false), 0);
	assert_int_equal(merged_stacks_add(s, d, self, 2, false), 0);
	assert_true(s->self[1] == INT64_MAX);
	assert_true(s->total == INT64_MAX);
}

static void a_subtree_lies_below_a_frame_of_its_own(void **state)
{
	_cleanup_(merged_stacks_freep) struct merged_stacks *s = NULL, *part = NULL;
	struct model full = { 0 }, names = { 0 }, want = { 0 };
	uint32_t seed = 7;
	struct part p;

	make_part(&p, &seed, &full, &names);
	assert_int_equal(merged_stacks_new(&part), 0);
	assert_int_equal(merged_stacks_add(part, p.dict, p.self, p.n, false), 0);
	assert_int_equal(merged_stacks_new(&s), 0);
	assert_int_equal(merged_stacks_add_subtree(s, "eu", part), 0);
	assert_int_equal(merged_stacks_add_subtree(s, "us", part), 0);
	assert_int_equal(merged_stacks_add_subtree(s, "eu", part), 0);
	for (size_t i = 0; i < full.n; i++) {
		char text[TEXT_CAP];
		const char *semicolon = full.lines[i].stack[0] ? ";" : "";

		snprintf(text, sizeof(text), "eu%s%s", semicolon, full.lines[i].stack);
		model_add(&want, text, 2 * full.lines[i].sum);
		snprintf(text, sizeof(text), "us%s%s", semicolon, full.lines[i].stack);
		model_add(&want, text, full.lines[i].sum);
	}
	assert_model(s, &want);
	part_fini(&p);
}

/* Does a stack begin with the @n names? Names have one letter here. */
static bool begins(const char *stack, const char *const *site, size_t n)
{
	for (size_t i = 0; i<n; i++, stack += strlen(stack)> 1 ? 2 : 1)
		if (stack[0] != site[i][0])
			return false;
	return true;
}

static void a_call_site_retains_the_stacks_that_begin_with_it(void **state)
{
	static const char *const sites[][3] = { { "a" }, { "b", "a" }, { "c", "c", "d" }, { "x" } };

	for (size_t k = 0; k < sizeof(sites) / sizeof(sites[0]); k++) {
		_cleanup_(merged_stacks_freep) struct merged_stacks *s = NULL;
		struct model full = { 0 }, names = { 0 }, want = { 0 };
		uint32_t seed = 99;
		size_t n = 0;
		struct part p;

		while (n < 3 && sites[k][n])
			n++;
		assert_int_equal(merged_stacks_new(&s), 0);
		for (int i = 0; i < 3; i++) {
			make_part(&p, &seed, &full, &names);
			assert_int_equal(merged_stacks_add(s, p.dict, p.self, p.n, true), 0);
			part_fini(&p);
		}
		for (size_t i = 0; i < names.n; i++)
			if (begins(names.lines[i].stack, sites[k], n))
				model_add(&want, names.lines[i].stack, names.lines[i].sum);
		assert_int_equal(merged_stacks_filter_call_site(s, sites[k], n), 0);
		assert_model(s, &want);
	}
}

static void a_merge_beyond_its_limit_of_nodes_fails(void **state)
{
	_cleanup_(merged_stacks_freep) struct merged_stacks *s = NULL;

	assert_int_equal(merged_stacks_new(&s), 0);
	s->max_nodes = 3;
	assert_int_equal(merged_stacks_add_value(s, 2, 1), 0);
	assert_int_equal(merged_stacks_add_value(s, 3, 1), -EFBIG);
	assert_int_equal(s->total, 1);
}

TEST_GROUP(test_merged_stacks, TEST(a_merge_beyond_its_limit_of_nodes_fails),
	   TEST(sums_equal_those_of_all_parts), TEST(an_empty_merge_has_a_root_without_value),
	   TEST(each_node_is_mapped_to_what_it_became), TEST(sums_stop_at_the_greatest_number),
	   TEST(a_subtree_lies_below_a_frame_of_its_own),
	   TEST(a_call_site_retains_the_stacks_that_begin_with_it))
