/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tree.h"

#include <errno.h>
#include <string.h>

#include "profile/profile.h"
#include "tests/test.h"

static uint32_t string(struct profile *p, const char *s)
{
	uint32_t id;

	assert_int_equal(profile_add_string(p, s, strlen(s), &id), 0);
	return id;
}

/* Adds a location of frames with these names, innermost first. */
static uint32_t location(struct profile *p, uint64_t address, uint8_t kind, const char *inner,
			 const char *outer)
{
	struct profile_function f = { .name = string(p, inner) };
	struct profile_line lines[2] = { 0 };
	struct profile_location l = { .mapping = PROFILE_NONE,
				      .address = address,
				      .kind = kind,
				      .n_lines = outer ? 2 : 1,
				      .lines = lines };
	uint32_t id;

	assert_int_equal(profile_add_function(p, &f, &lines[0].function), 0);
	if (outer) {
		f.name = string(p, outer);
		assert_int_equal(profile_add_function(p, &f, &lines[1].function), 0);
	}
	assert_int_equal(profile_add_location(p, &l, &id), 0);
	return id;
}

static void add(struct profile *p, uint32_t leaf, uint32_t root, const char *comm, int64_t value)
{
	uint32_t stack[] = { leaf, root };
	struct profile_label label = { .key = string(p, "comm"), .str = string(p, comm) };
	int64_t values[] = { value, -value };
	struct profile_sample s = { .n_labels = comm[0] ? 1 : 0,
				    .labels = &label,
				    .values = values };

	assert_int_equal(profile_add_stack(p, stack, 2, &s.stack), 0);
	assert_int_equal(profile_add_sample(p, &s), 0);
}

static struct profile *new_profile(void)
{
	struct profile *p;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(profile_add_sample_type(p, "minus", "count"), 0);
	return p;
}

/* Returns the child of @parent with this name. Fails the test if it does not exist. */
static uint32_t child(const struct tree *t, uint32_t parent, const char *name)
{
	for (uint32_t i = 1; i < tree_n_nodes(t); i++) {
		const struct tree_node *n = tree_node(t, i);

		assert_true(n->parent < i);
		if (n->parent == parent &&
		    !strcmp(tree_string(t, tree_frame(t, n->frame)->name), name))
			return i;
	}
	fail_msg("node \"%s\" is missing", name);
	return 0;
}

static void equal_names_are_one_node(void **state)
{
	struct profile *p = new_profile();
	uint32_t root = location(p, 1, PROFILE_FRAME_NATIVE, "main", NULL);
	uint32_t a = location(p, 2, PROFILE_FRAME_NATIVE, "work", NULL);
	uint32_t b = location(p, 3, PROFILE_FRAME_NATIVE, "work", NULL);
	uint32_t k = location(p, 4, PROFILE_FRAME_KERNEL, "work", NULL);
	struct tree *t;
	uint32_t m, w;

	add(p, a, root, "x", 1);
	add(p, b, root, "y", 2);
	add(p, k, root, "", 4);
	assert_int_equal(tree_build(&t, p, NULL), 0);
	assert_int_equal(tree_n_nodes(t), 4);
	assert_int_equal(tree_n_frames(t), 3);
	m = child(t, 0, "main");
	w = child(t, m, "work");
	assert_int_equal(tree_node(t, 0)->total, 7);
	assert_int_equal(tree_node(t, m)->self, 0);
	assert_int_equal(tree_node(t, m)->total, 7);
	assert_int_equal(tree_node(t, w)->self, 3);
	tree_free(t);
	profile_free(p);
}

static uint32_t main_of(struct profile *p, const char *file)
{
	struct profile_mapping m = { .start = 0x1000, .limit = 0x2000, .file = string(p, file) };
	struct profile_function f = { .name = string(p, "main") };
	struct profile_line line = { 0 };
	struct profile_location l = {
		.address = 0x1000, .kind = PROFILE_FRAME_NATIVE, .n_lines = 1, .lines = &line
	};
	uint32_t id;

	assert_int_equal(profile_add_mapping(p, &m, &l.mapping), 0);
	assert_int_equal(profile_add_function(p, &f, &line.function), 0);
	assert_int_equal(profile_add_location(p, &l, &id), 0);
	return id;
}

static void equal_names_in_two_binaries_are_two(void **state)
{
	struct profile *p = new_profile();
	uint32_t root = location(p, 1, PROFILE_FRAME_NATIVE, "_start", NULL);
	struct tree *t;

	add(p, main_of(p, "/bin/a"), root, "", 1);
	add(p, main_of(p, "/bin/b"), root, "", 2);
	assert_int_equal(tree_build(&t, p, NULL), 0);
	assert_int_equal(tree_n_frames(t), 3);
	assert_int_equal(tree_n_nodes(t), 4);
	assert_string_equal(tree_string(t, tree_frame(t, 1)->binary), "/bin/a");
	assert_string_equal(tree_string(t, tree_frame(t, 2)->binary), "/bin/b");
	tree_free(t);
	profile_free(p);
}

static void inlined_frames_are_children_of_their_callers(void **state)
{
	struct profile *p = new_profile();
	uint32_t root = location(p, 1, PROFILE_FRAME_NATIVE, "main", NULL);
	struct tree *t;
	uint32_t outer, inner;

	add(p, location(p, 2, PROFILE_FRAME_NATIVE, "inner", "outer"), root, "", 1);
	assert_int_equal(tree_build(&t, p, NULL), 0);
	outer = child(t, child(t, 0, "main"), "outer");
	inner = child(t, outer, "inner");
	assert_false(tree_frame(t, tree_node(t, outer)->frame)->inlined);
	assert_true(tree_frame(t, tree_node(t, inner)->frame)->inlined);
	assert_int_equal(tree_node(t, inner)->self, 1);
	tree_free(t);
	profile_free(p);
}

static void a_label_can_be_a_level_above_the_stacks(void **state)
{
	struct profile *p = new_profile();
	uint32_t root = location(p, 1, PROFILE_FRAME_NATIVE, "main", NULL);
	uint32_t a = location(p, 2, PROFILE_FRAME_NATIVE, "work", NULL);
	const struct tree_options opt = { .value_num = 1, .root_label = "comm" };
	struct tree *t;

	add(p, a, root, "x", 1);
	add(p, a, root, "y", 2);
	add(p, a, root, "", 4);
	assert_int_equal(tree_build(&t, p, &opt), 0);
	assert_int_equal(tree_node(t, child(t, 0, "x"))->total, -1);
	assert_int_equal(tree_node(t, child(t, child(t, 0, "y"), "main"))->total, -2);
	assert_int_equal(tree_node(t, child(t, child(t, 0, "main"), "work"))->self, -4);
	assert_int_equal(tree_node(t, 0)->total, -7);
	tree_free(t);
	profile_free(p);
}

static void a_profile_without_samples_has_only_a_root(void **state)
{
	struct profile *p = new_profile();
	struct tree *t;

	assert_int_equal(tree_build(&t, p, NULL), 0);
	assert_int_equal(tree_n_nodes(t), 1);
	assert_int_equal(tree_node(t, 0)->parent, TREE_NONE);
	assert_int_equal(tree_node(t, 0)->frame, TREE_NONE);
	tree_free(t);
	assert_int_equal(tree_build(&t, p, &(struct tree_options){ .value_num = 2 }), -EINVAL);
	profile_free(p);
}

TEST_GROUP(test_tree, TEST(equal_names_are_one_node), TEST(equal_names_in_two_binaries_are_two),
	   TEST(inlined_frames_are_children_of_their_callers),
	   TEST(a_label_can_be_a_level_above_the_stacks),
	   TEST(a_profile_without_samples_has_only_a_root))
