/* SPDX-License-Identifier: Apache-2.0 */
/* Merged stacks that are built by hand, converted to profiles and to the page's trees. */
#include "query/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "codec/page/page_json.h"
#include "flame/merged_stacks.h"
#include "flame/stack_dict.h"
#include "profile/profile.h"
#include "store/store.h"
#include "tables/calls.h"
#include "tests/test.h"

static const struct store_type cpu = { "process_cpu", "cpu", "nanoseconds", "cpu", "nanoseconds" };
static const struct store_type heap = { "memory", "inuse", "bytes", "space", "bytes" };

enum { START_NS = 1000 };

static uint32_t string(struct merged_stacks *s, const char *text)
{
	uint32_t id;

	assert_int_equal(stack_dict_add_string(s->dict, text, strlen(text), &id), 0);
	return id;
}

/* Adds a node below @parent. */
static uint32_t node(struct merged_stacks *s, uint32_t parent, const char *name,
		     enum profile_frame_kind kind, bool inlined)
{
	const struct stack_dict_frame f = { .name = string(s, name),
					    .file = string(s, "file.c"),
					    .binary = string(s, "/bin/app"),
					    .line = 12,
					    .kind = (uint32_t)kind << 1 | inlined };
	uint32_t frame, id;

	assert_int_equal(stack_dict_add_frame(s->dict, &f, &frame), 0);
	assert_int_equal(stack_dict_add_node(s->dict, parent, frame, &id), 0);
	return id;
}

static void value(struct merged_stacks *s, uint32_t n, int64_t v)
{
	assert_int_equal(merged_stacks_add_value(s, n, v), 0);
}

/* a;f 3, a;f;g 4 (g is inlined), b;f 5 and 1 without a frame. */
static struct merged_stacks *new_stacks(void)
{
	struct merged_stacks *s;
	uint32_t a, f;

	assert_int_equal(merged_stacks_new(&s), 0);
	a = node(s, 0, "a", PROFILE_FRAME_NATIVE, false);
	f = node(s, a, "f", PROFILE_FRAME_PYTHON, false);
	value(s, f, 3);
	value(s, node(s, f, "g", PROFILE_FRAME_NATIVE, true), 4);
	value(s,
	      node(s, node(s, 0, "b", PROFILE_FRAME_NATIVE, false), "f", PROFILE_FRAME_PYTHON,
		   false),
	      5);
	value(s, 0, 1);
	s->duration_ns = 60;
	s->period = 10;
	return s;
}

static int cmp_lines(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Expects these stacks, root first, as sorted lines. */
static void assert_stacks(const struct profile *p, const char *want)
{
	enum { LINES_MAX = 16, LINE_LEN = 64 };
	char lines[LINES_MAX][LINE_LEN] = { "" };
	char all[LINES_MAX * LINE_LEN] = "";
	uint32_t n = profile_n_samples(p);
	size_t all_len = 0;

	assert_true(n <= LINES_MAX);
	for (uint32_t i = 0; i < n; i++) {
		struct profile_sample s = profile_sample(p, i);
		size_t depth, len = 0;
		const uint32_t *stack = profile_stack(p, s.stack, &depth);

		while (depth-- > 0) {
			struct profile_location l = profile_location(p, stack[depth]);
			uint32_t name = profile_function(p, l.lines[0].function)->name;

			len += (size_t)snprintf(lines[i] + len, LINE_LEN - len, "%s;",
						profile_string(p, name));
			assert_true(len < LINE_LEN);
		}
		snprintf(lines[i] + len, LINE_LEN - len, " %d\n", (int)s.values[0]);
	}
	qsort(lines, n, LINE_LEN, cmp_lines);
	for (uint32_t i = 0; i < n; i++) {
		size_t len = strlen(lines[i]);

		assert_true(all_len + len < sizeof(all));
		memcpy(all + all_len, lines[i], len + 1);
		all_len += len;
	}
	assert_string_equal(all, want);
}

static void a_profile_has_the_stacks_with_a_value(void **state)
{
	struct merged_stacks *s = new_stacks();
	struct profile *p;
	const struct profile_meta *meta;
	struct profile_location l;

	assert_int_equal(export_profile(&p, s, &cpu, START_NS, NULL), 0);
	merged_stacks_free(s);
	assert_int_equal(profile_n_samples(p), 4);
	assert_stacks(p, " 1\na;f; 3\na;f;g; 4\nb;f; 5\n");
	assert_int_equal(profile_n_sample_types(p), 1);
	assert_string_equal(profile_string(p, profile_sample_type(p, 0).type), "cpu");
	meta = profile_meta_const(p);
	assert_int_equal(meta->time_ns, START_NS);
	assert_int_equal(meta->duration_ns, 60);
	assert_int_equal(meta->period, 10);
	assert_string_equal(profile_string(p, meta->period_type.unit), "nanoseconds");
	assert_int_equal(profile_n_mappings(p), 1);
	assert_string_equal(profile_string(p, profile_mapping(p, 0)->file), "/bin/app");
	l = profile_location(p, 1);
	assert_int_equal(l.kind, PROFILE_FRAME_PYTHON);
	assert_int_equal(profile_function(p, l.lines[0].function)->start_line, 12);
	assert_string_equal(profile_string(p, profile_function(p, l.lines[0].function)->file),
			    "file.c");
	profile_free(p);
}

static int64_t value_with_label(const struct profile *p, const char *text)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < profile_n_samples(p); i++) {
		struct profile_sample s = profile_sample(p, i);

		if (s.n_labels == 1 && !strcmp(profile_string(p, s.labels[0].key), "pod") &&
		    !strcmp(profile_string(p, s.labels[0].str), text))
			sum += s.values[0];
	}
	return sum;
}

static void the_outermost_frame_becomes_the_label(void **state)
{
	struct merged_stacks *s = new_stacks();
	struct profile *p;

	assert_int_equal(export_profile(&p, s, &cpu, START_NS, "pod"), 0);
	assert_stacks(p, " 1\nf; 3\nf; 5\nf;g; 4\n");
	assert_int_equal(value_with_label(p, "a"), 7);
	assert_int_equal(value_with_label(p, "b"), 5);
	profile_free(p);
	merged_stacks_free(s);
}

static void no_stacks_make_an_empty_profile(void **state)
{
	struct merged_stacks *s;
	struct profile *p;

	assert_int_equal(merged_stacks_new(&s), 0);
	assert_int_equal(export_profile(&p, s, &heap, START_NS, NULL), 0);
	assert_int_equal(profile_n_samples(p), 0);
	assert_int_equal(profile_n_sample_types(p), 1);
	profile_free(p);
	merged_stacks_free(s);
}

static void a_tree_has_the_nodes_with_their_numbers(void **state)
{
	struct merged_stacks *s = new_stacks();
	const struct stable *nodes = stack_dict_nodes(s->dict);
	struct page_tree t = { 0 };

	assert_int_equal(export_tree(&t, s, NULL, &cpu, START_NS), 0);
	assert_int_equal(t.nodes.len, s->n);
	assert_int_equal(t.total, 13);
	assert_int_equal(t.period_ns, 10);
	assert_int_equal(t.time_ns, START_NS);
	assert_int_equal(t.duration_ns, 60);
	assert_string_equal(t.unit, "nanoseconds");
	assert_int_equal(t.nodes.data[0].parent, PAGE_NONE);
	assert_int_equal(t.nodes.data[0].frame, PAGE_NONE);
	for (size_t i = 0; i < s->n; i++) {
		assert_int_equal(t.nodes.data[i].self, s->self[i]);
		if (!i)
			continue;
		assert_int_equal(t.nodes.data[i].parent, stack_dict_node(nodes, i)->parent);
		assert_true(t.nodes.data[i].frame < t.frames.len);
	}
	assert_string_equal(t.frames.data[2].name, "g");
	assert_true(t.frames.data[2].inlined);
	assert_string_equal(t.frames.data[1].kind, "python");
	assert_false(t.frames.data[1].inlined);
	assert_int_equal(t.frames.data[1].line, 12);
	page_tree_fini(&t);
	merged_stacks_free(s);
}

static void a_tree_may_have_other_values(void **state)
{
	struct merged_stacks *s = new_stacks();
	int64_t *self = calloc(s->n, sizeof(*self));
	struct page_tree t = { 0 };

	assert_non_null(self);
	self[1] = INT64_MAX;
	self[2] = INT64_MAX;
	assert_int_equal(export_tree(&t, s, self, &heap, START_NS), 0);
	/* The total saturates, and the period of another unit is none. */
	assert_int_equal(t.total, INT64_MAX);
	assert_int_equal(t.period_ns, 0);
	assert_int_equal(t.nodes.data[1].self, INT64_MAX);
	page_tree_fini(&t);
	free(self);
	merged_stacks_free(s);
}

static void a_call_tree_becomes_a_tree_of_the_page(void **state)
{
	const struct calls_options opt = { .direction = CALLS_CALLERS, .name = "g" };
	struct merged_stacks *s = new_stacks();
	struct page_tree t = { 0 };
	struct profile *p;
	struct calls *c;
	static const char *const names[] = { "", "g", "f", "a" };

	assert_int_equal(export_profile(&p, s, &cpu, START_NS, NULL), 0);
	assert_int_equal(calls_build(&c, p, &opt), 0);
	assert_int_equal(export_calls(&t, c, &cpu), 0);
	assert_int_equal(t.nodes.len, 4);
	assert_int_equal(t.total, 4);
	assert_int_equal(t.nodes.data[0].frame, PAGE_NONE);
	for (uint32_t i = 1; i < 4; i++) {
		assert_int_equal(t.nodes.data[i].parent, i - 1);
		assert_string_equal(t.frames.data[t.nodes.data[i].frame].name, names[i]);
	}
	assert_string_equal(t.frames.data[t.nodes.data[2].frame].kind, "python");
	page_tree_fini(&t);
	calls_free(c);
	profile_free(p);
	merged_stacks_free(s);
}

TEST_GROUP(test_export, TEST(a_profile_has_the_stacks_with_a_value),
	   TEST(the_outermost_frame_becomes_the_label), TEST(no_stacks_make_an_empty_profile),
	   TEST(a_tree_has_the_nodes_with_their_numbers), TEST(a_tree_may_have_other_values),
	   TEST(a_call_tree_becomes_a_tree_of_the_page))
