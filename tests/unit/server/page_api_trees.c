/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trees are compared as folded stacks with self values, one line each. The values follow from the
 * stacks in fixture.c by hand: each sample is 10 ms.
 */
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_read.h"
#include "base/vec.h"
#include "fixture.h"
#include "server/page_api.h"
#include "tests/test.h"

#define ALL  CPU_QUERY("{}")
#define SHOP CPU_QUERY("{service_name=\\\"shop\\\"}")
#define A    CPU_QUERY("{instance=\\\"a\\\"}")
#define B    CPU_QUERY("{instance=\\\"b\\\"}")

struct numbers {
	VEC(int64_t);
};

/* A tree of docs/api.md as it is read: the name of a frame is its first number. */
struct tree {
	struct {
		VEC(char *);
	} strings;
	struct numbers frames, parents, node_frames, self;
};

static int read_string(struct json_read *j, void *ctx)
{
	struct tree *t = ctx;

	assert_int_equal(json_read_string(j), 0);
	return vec_push(&t->strings, strdup((const char *)j->text.data));
}

static int read_number(struct json_read *j, void *ctx)
{
	double v;

	assert_int_equal(json_read_number(j, &v), 0);
	return vec_push((struct numbers *)ctx, (int64_t)v);
}

static int read_frame(struct json_read *j, void *ctx)
{
	struct numbers frame = { 0 };
	int r = json_read_each(j, '[', read_number, &frame);

	assert_int_equal(r, 0);
	r = vec_push((struct numbers *)ctx, frame.data[0]);
	vec_fini(&frame);
	return r;
}

static int read_nodes(struct json_read *j, void *ctx)
{
	struct tree *t = ctx;
	struct numbers *to = json_read_is(j, "parent")  ? &t->parents
			     : json_read_is(j, "frame") ? &t->node_frames
							: &t->self;

	return json_read_each(j, '[', read_number, to);
}

static int read_tree(struct json_read *j, void *ctx)
{
	struct tree *t = ctx;

	if (json_read_is(j, "strings"))
		return json_read_each(j, '[', read_string, t);
	if (json_read_is(j, "frames"))
		return json_read_each(j, '[', read_frame, &t->frames);
	return json_read_is(j, "nodes") ? json_read_each(j, '{', read_nodes, t) : json_read_skip(j);
}

static void put_stack(struct buf *out, const struct tree *t, size_t node)
{
	int64_t parent = t->parents.data[node];

	assert_true(parent >= 0 && (size_t)parent < node);
	if (parent > 0) {
		put_stack(out, t, (size_t)parent);
		buf_put_byte(out, ';');
	}
	buf_put_str(out, t->strings.data[t->frames.data[t->node_frames.data[node]]]);
}

static char *folded(const struct tree *t)
{
	struct buf out = { 0 };

	for (size_t i = 1; i < t->self.len; i++) {
		if (!t->self.data[i])
			continue;
		put_stack(&out, t, i);
		buf_printf(&out, " %" PRId64 "\n", t->self.data[i]);
	}
	buf_put_byte(&out, 0);
	return (char *)out.data;
}

static void tree_fini(struct tree *t)
{
	for (size_t i = 0; i < t->strings.len; i++)
		free(t->strings.data[i]);
	vec_fini(&t->strings);
	vec_fini(&t->frames);
	vec_fini(&t->parents);
	vec_fini(&t->node_frames);
	vec_fini(&t->self);
}

/* Compares the tree in the member @key of the response, or the response itself if it is NULL. */
static void assert_tree(const struct scene *s, const char *key, const char *stacks)
{
	_cleanup_(tree_fini) struct tree t = { 0 };
	_cleanup_(freep) char *got = NULL;
	struct json_read j;
	int r = 0;

	json_read_init(&j, s->answer.body.data, s->answer.body.len);
	if (!key) {
		r = json_read_each(&j, '{', read_tree, &t);
	} else {
		assert_int_equal(json_read_open(&j, '{'), 0);
		while (r == 0 && json_read_key(&j) > 0)
			r = json_read_is(&j, key) ? json_read_each(&j, '{', read_tree, &t)
						  : json_read_skip(&j);
	}
	assert_int_equal(r, 0);
	assert_int_equal(json_read_end(&j), 0);
	json_read_fini(&j);
	got = folded(&t);
	assert_string_equal(got, stacks);
}

static void a_tree_has_the_sum_of_each_stack(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	assert_int_equal(scene_post(&s, PAGE "Tree", "{" SHOP "}"), 200);
	assert_tree(&s, NULL,
		    "main;serve 20000000\n"
		    "main;serve;parse 70000000\n"
		    "main;serve;query 60000000\n"
		    "main;serve;query;lock 50000000\n"
		    "main;gc 10000000\n");
	assert_non_null(strstr(scene_text(&s),
			       "\"unit\":\"nanoseconds\",\"type\":\"cpu\",\"period_ns\":10000000,"
			       "\"time_ns\":1795199985000000000,\"duration_ns\":30000000000,"));
	assert_int_equal(scene_post(&s, PAGE "Tree", "{" SHOP ",\"maxNodes\":2}"), 200);
	assert_tree(&s, NULL,
		    "main;serve 20000000\n"
		    "main;serve;other 180000000\n"
		    "main;other 10000000\n");
	assert_int_equal(scene_post(&s, PAGE "Tree", "{" CPU_QUERY("{x=\\\"y\\\"}") "}"), 200);
	assert_tree(&s, NULL, "");
	scene_refuses(&s, PAGE "Tree", "{" SHOP ",\"maxNodes\":2000000}", 400, "invalid_argument",
		      "maxNodes");
	scene_end(&s);
}

static void a_label_groups_the_stacks_below_its_values(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	assert_int_equal(scene_post(&s, PAGE "Tree",
				    "{" ALL
				    ",\"label\":\"region\",\"callSite\":[\"us\",\"main\"]}"),
			 200);
	assert_tree(&s, NULL,
		    "us;main;serve;parse 40000000\n"
		    "us;main;serve;query 60000000\n");
	assert_non_null(strstr(scene_text(&s), "\"group\""));
	assert_int_equal(scene_post(&s, PAGE "Tree", "{" ALL ",\"callSite\":[\"main\",\"gc\"]}"),
			 200);
	assert_tree(&s, NULL, "main;gc 30000000\n");
	scene_end(&s);
}

static void the_trees_of_a_diff_have_the_same_nodes(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	assert_int_equal(scene_post(&s, PAGE "Diff", "{\"left\":{" A "},\"right\":{" B "}}"), 200);
	assert_tree(&s, "before",
		    "main;serve 20000000\n"
		    "main;serve;parse 30000000\n"
		    "main;serve;query;lock 50000000\n"
		    "main;gc 10000000\n");
	assert_tree(&s, "after", "main;serve;parse 40000000\nmain;serve;query 60000000\n");
	/* a node that one side has not got is pruned by the sum of both */
	assert_int_equal(
		scene_post(&s, PAGE "Diff", "{\"left\":{" A "},\"right\":{" B "},\"maxNodes\":3}"),
		200);
	assert_tree(&s, "before",
		    "main;serve 20000000\n"
		    "main;serve;other 30000000\n"
		    "main;serve;query;other 50000000\n"
		    "main;other 10000000\n");
	assert_tree(&s, "after", "main;serve;query 60000000\nmain;serve;other 40000000\n");
	scene_end(&s);
}

static void a_sandwich_has_callers_and_callees(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	assert_int_equal(
		scene_post(&s, PAGE "Sandwich", "{" ALL ",\"function\":{\"name\":\"serve\"}}"),
		200);
	scene_begins(&s, "{\"total\":200000000,\"self\":20000000,\"all\":300000000,");
	assert_tree(&s, "callers", "serve;main 200000000\n");
	assert_tree(&s, "callees",
		    "serve 20000000\n"
		    "serve;parse 70000000\n"
		    "serve;query 60000000\n"
		    "serve;query;lock 50000000\n");
	scene_refuses(&s, PAGE "Sandwich", "{" ALL "}", 400, "invalid_argument", "function.name");
	scene_refuses(&s, PAGE "Sandwich", "{" ALL ",\"function\":{\"name\":\"nobody\"}}", 404,
		      "not_found", "no function");
	scene_refuses(&s, PAGE "Sandwich",
		      "{" ALL ",\"function\":{\"name\":\"serve\",\"binary\":\"x\"}}", 404,
		      "not_found", "no function");
	scene_end(&s);
}

TEST_GROUP(test_page_api_trees, TEST(a_tree_has_the_sum_of_each_stack),
	   TEST(a_label_groups_the_stacks_below_its_values),
	   TEST(the_trees_of_a_diff_have_the_same_nodes), TEST(a_sandwich_has_callers_and_callees))
