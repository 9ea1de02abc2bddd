/* SPDX-License-Identifier: Apache-2.0 */
#include "store/intern.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "flame/stack_dict.h"
#include "profile/profile.h"
#include "tests/test.h"

enum { MAX_STACKS = 300 };

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 16;
}

static uint32_t string(struct profile *p, const char *s)
{
	uint32_t id;

	assert_int_equal(profile_add_string(p, s, strlen(s), &id), 0);
	return id;
}

/* A location of up to three inlined functions, of few different ones. */
static uint32_t random_location(struct profile *p, uint32_t *seed)
{
	static const char *const names[] = { "a", "b", "c", "d" };
	static const char *const files[] = { "", "x.c", "y.c" };
	struct profile_line lines[3] = { 0 };
	struct profile_location l = { .mapping = PROFILE_NONE, .lines = lines };
	struct profile_mapping m = { .file = string(p, next(seed) % 2 ? "/bin/app" : "/lib/so") };
	uint32_t id;

	l.n_lines = 1 + next(seed) % 3;
	l.address = next(seed) % 3;
	for (uint32_t i = 0; i < l.n_lines; i++) {
		struct profile_function f = { .name = string(p, names[next(seed) % 4]),
					      .file = string(p, files[next(seed) % 3]),
					      .start_line = next(seed) % 2 };

		assert_int_equal(profile_add_function(p, &f, &lines[i].function), 0);
		lines[i].line = next(seed) % 5;
	}
	if (next(seed) % 4)
		assert_int_equal(profile_add_mapping(p, &m, &l.mapping), 0);
	assert_int_equal(profile_add_location(p, &l, &id), 0);
	return id;
}

static struct profile *random_profile(uint32_t seed)
{
	struct profile *p = NULL;
	uint32_t stack[6], id;

	assert_int_equal(profile_new(&p), 0);
	for (int i = 0; i < MAX_STACKS; i++) {
		size_t n = next(&seed) % 6;

		for (size_t k = 0; k < n; k++)
			stack[k] = random_location(p, &seed);
		assert_int_equal(profile_add_stack(p, stack, n, &id), 0);
	}
	return p;
}

/* Writes the frames of a stack of the profile as text, outermost first. */
static void put_profile_stack(struct buf *out, const struct profile *p, uint32_t stack)
{
	size_t n;
	const uint32_t *locations = profile_stack(p, stack, &n);

	while (n-- > 0) {
		struct profile_location l = profile_location(p, locations[n]);
		const char *binary =
			l.mapping == PROFILE_NONE
				? ""
				: profile_string(p, profile_mapping(p, l.mapping)->file);

		for (uint32_t i = l.n_lines; i-- > 0;) {
			const struct profile_function *f = profile_function(p, l.lines[i].function);

			buf_printf(out, "%s|%s|%s|%lld|%d;", profile_string(p, f->name),
				   profile_string(p, f->file), binary, (long long)f->start_line,
				   i + 1 < l.n_lines);
		}
	}
	buf_put_byte(out, 0);
}

/* Writes the frames of a node of the dictionary as the same text. */
static void put_node(struct buf *out, const struct stack_dict *d, uint32_t node)
{
	const struct stack_dict_node n = *stack_dict_node(stack_dict_nodes(d), node);
	const struct stack_dict_frame *f;

	if (!node)
		return;
	put_node(out, d, n.parent);
	f = stack_dict_frame(d, n.frame);
	buf_printf(out, "%s|%s|%s|%u|%u;", stack_dict_string(d, f->name),
		   stack_dict_string(d, f->file), stack_dict_string(d, f->binary), f->line,
		   f->kind & 1);
}

static void assert_interned(const struct stack_dict *d, const struct profile *p,
			    const uint32_t *nodes)
{
	for (uint32_t i = 0; i < profile_n_stacks(p); i++) {
		_cleanup_(buf_fini) struct buf want = { 0 }, got = { 0 };

		put_profile_stack(&want, p, i);
		put_node(&got, d, nodes[i]);
		buf_put_byte(&got, 0);
		assert_string_equal((const char *)got.data, (const char *)want.data);
	}
}

static void intern(struct intern *in, struct stack_dict *d, const struct profile *p,
		   uint32_t *nodes)
{
	struct intern_keys keys = { 0 };

	assert_int_equal(intern_keys_build(&keys, p), 0);
	assert_int_equal(intern_stacks(in, d, p, &keys, nodes), 0);
	intern_keys_fini(&keys);
}

static void each_stack_becomes_the_node_of_its_frames(void **state)
{
	_cleanup_(stack_dict_freep) struct stack_dict *d = NULL;
	_cleanup_(intern_fini) struct intern in = { 0 };
	uint32_t nodes[MAX_STACKS];

	assert_int_equal(stack_dict_new(&d), 0);
	for (uint32_t seed = 1; seed <= 5; seed++) {
		_cleanup_(profile_freep) struct profile *p = random_profile(seed);

		intern(&in, d, p, nodes);
		assert_interned(d, p, nodes);
	}
}

/* The caches only save time: without them the same nodes are found in the dictionary. */
static void the_same_profile_adds_nothing_with_or_without_caches(void **state)
{
	_cleanup_(profile_freep) struct profile *p = random_profile(7);
	_cleanup_(stack_dict_freep) struct stack_dict *d = NULL;
	uint32_t first[MAX_STACKS], again[MAX_STACKS], n_nodes, n_frames, n_strings;
	struct intern in = { 0 };

	assert_int_equal(stack_dict_new(&d), 0);
	intern(&in, d, p, first);
	n_nodes = stack_dict_count(d, STACK_DICT_NODES);
	n_frames = stack_dict_count(d, STACK_DICT_FRAMES);
	n_strings = stack_dict_count(d, STACK_DICT_STRINGS);
	for (int with_caches = 1; with_caches >= 0; with_caches--) {
		if (!with_caches) {
			intern_fini(&in);
			in = (struct intern){ 0 };
		}
		intern(&in, d, p, again);
		assert_memory_equal(again, first, profile_n_stacks(p) * sizeof(*first));
		assert_int_equal(stack_dict_count(d, STACK_DICT_NODES), n_nodes);
		assert_int_equal(stack_dict_count(d, STACK_DICT_FRAMES), n_frames);
		assert_int_equal(stack_dict_count(d, STACK_DICT_STRINGS), n_strings);
	}
	intern_fini(&in);
}

static void a_profile_without_stacks_is_interned(void **state)
{
	_cleanup_(stack_dict_freep) struct stack_dict *d = NULL;
	_cleanup_(intern_fini) struct intern in = { 0 };
	_cleanup_(profile_freep) struct profile *p = NULL;
	uint32_t none;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(stack_dict_new(&d), 0);
	intern(&in, d, p, &none);
	assert_int_equal(stack_dict_count(d, STACK_DICT_NODES), 1);
}

TEST_GROUP(test_intern, TEST(each_stack_becomes_the_node_of_its_frames),
	   TEST(the_same_profile_adds_nothing_with_or_without_caches),
	   TEST(a_profile_without_stacks_is_interned))
