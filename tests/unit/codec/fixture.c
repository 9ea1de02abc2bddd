/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "codec/text/text.h"
#include "profile/profile.h"
#include "tests/test.h"

enum { DEPTH_MAX = 128, LABELS_MAX = 8 };

uint32_t fixture_string(struct profile *p, const char *s)
{
	uint32_t id;

	assert_int_equal(profile_add_string(p, s, strlen(s), &id), 0);
	return id;
}

static uint32_t add_function(struct profile *p, const char *name, const char *file, uint32_t line)
{
	struct profile_function f = {
		.name = fixture_string(p, name),
		.system_name = fixture_string(p, name),
		.file = fixture_string(p, file),
		.start_line = line,
	};
	uint32_t id;

	assert_int_equal(profile_add_function(p, &f, &id), 0);
	return id;
}

uint32_t fixture_function(struct profile *p, const char *name)
{
	return add_function(p, name, "", 0);
}

static uint32_t add_location(struct profile *p, const struct profile_location *l)
{
	uint32_t id;

	assert_int_equal(profile_add_location(p, l, &id), 0);
	return id;
}

uint32_t fixture_location(struct profile *p, uint32_t mapping, uint64_t address, const char *name)
{
	struct profile_line line = { .function = fixture_function(p, name) };
	struct profile_location l = {
		.mapping = mapping, .address = address, .n_lines = 1, .lines = &line
	};

	l.kind = PROFILE_FRAME_NATIVE;
	return add_location(p, &l);
}

static struct profile *new_cpu_profile(void)
{
	struct profile *p;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", "nanoseconds"), 0);
	*profile_meta(p) = (struct profile_meta){
		.time_ns = 1700000000000000000,
		.duration_ns = 10000000000,
		.period_type = { fixture_string(p, "cpu"), fixture_string(p, "nanoseconds") },
		.period = 10,
	};
	return p;
}

static uint32_t add_mapping(struct profile *p, uint64_t start, const char *file, const char *id)
{
	struct profile_mapping m = {
		.start = start,
		.limit = start + 0x10000,
		.file_off = 0x100,
		.file = fixture_string(p, file),
		.build_id = fixture_string(p, id),
		.has_functions = true,
	};
	uint32_t m_id;

	assert_int_equal(profile_add_mapping(p, &m, &m_id), 0);
	return m_id;
}

static void add_sample(struct profile *p, const uint32_t *stack, size_t n,
		       const struct profile_label *labels, uint32_t n_labels, int64_t value)
{
	int64_t values[] = { value, value * 10 };
	struct profile_sample s = { .n_labels = n_labels, .labels = labels, .values = values };

	assert_int_equal(profile_add_stack(p, stack, n, &s.stack), 0);
	assert_int_equal(profile_add_sample(p, &s), 0);
}

struct profile *fixture_small(void)
{
	struct profile *p = new_cpu_profile();
	uint32_t exe = add_mapping(p, 0x400000, "/bin/prog", "abc123");
	uint32_t lib = add_mapping(p, 0x7f0000, "/lib/lib.so", "");
	uint32_t kernel = add_mapping(p, 0xffffffff80000000, "[kernel.kallsyms]", "");
	struct profile_line work[] = {
		{ .function = add_function(p, "inlined", "work.h", 5), .line = 6 },
		{ .function = add_function(p, "work", "work.c", 10), .line = 12, .column = 3 },
	};
	struct profile_location l = {
		.mapping = exe,
		.address = 0x400200,
		.kind = PROFILE_FRAME_NATIVE,
		.n_lines = 2,
		.lines = work,
	};
	uint32_t main_loc = fixture_location(p, exe, 0x400100, "main");
	uint32_t stack[3] = { add_location(p, &l), main_loc };
	struct profile_label labels[] = {
		{ .key = fixture_string(p, "comm"), .str = fixture_string(p, "sh") },
		{ .key = fixture_string(p, "pid"), .num = 7 },
	};
	struct profile_line read = { .function = fixture_function(p, "vfs_read") };

	add_sample(p, stack, 2, labels, 2, 3);
	l = (struct profile_location){ .mapping = lib,
				       .address = 0x7f0134,
				       .kind = PROFILE_FRAME_NATIVE };
	stack[1] = add_location(p, &l);
	l = (struct profile_location){ .mapping = kernel,
				       .address = 0xffffffff80001000,
				       .kind = PROFILE_FRAME_KERNEL,
				       .n_lines = 1,
				       .lines = &read };
	stack[0] = add_location(p, &l);
	stack[2] = main_loc;
	add_sample(p, stack, 3, NULL, 0, 1);
	return p;
}

/* xorshift: the same sequence on every machine */
static uint32_t next(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

static uint32_t random_location(struct profile *p, uint32_t *seed, const struct fixture_size *size)
{
	static const uint8_t kinds[] = { PROFILE_FRAME_NATIVE, PROFILE_FRAME_KERNEL,
					 PROFILE_FRAME_PYTHON, PROFILE_FRAME_JVM };
	struct profile_line lines[3];
	struct profile_location l = { .mapping = PROFILE_NONE, .lines = lines };
	uint32_t f = next(seed) % size->n_functions;

	if (size->n_mappings && next(seed) % 4)
		l.mapping = f % size->n_mappings;
	l.kind = kinds[f % 4];
	l.n_lines = f % 5 == 0 ? 0 : 1 + (f % 11 == 0) + (f % 13 == 0);
	l.address = l.mapping == PROFILE_NONE ? f + 1
					      : profile_mapping(p, l.mapping)->start + f % 0x10000;
	for (uint32_t i = 0; i < l.n_lines; i++)
		lines[i] = (struct profile_line){ .function = (f + i) % size->n_functions,
						  .line = f % 1000,
						  .column = f % 3 };
	return add_location(p, &l);
}

static uint32_t random_labels(struct profile *p, uint32_t *seed, uint32_t max,
			      struct profile_label *labels)
{
	uint32_t n = max ? next(seed) % (max + 1) : 0;
	char text[32];

	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = next(seed) % 50;

		snprintf(text, sizeof(text), "key%u", i);
		labels[i] = (struct profile_label){ .key = fixture_string(p, text) };
		snprintf(text, sizeof(text), "value%u", v);
		if (i % 2)
			labels[i].str = fixture_string(p, text);
		else
			labels[i].num = (int64_t)v - 25;
		if (i % 4 == 2)
			labels[i].num_unit = fixture_string(p, "bytes");
	}
	return n;
}

struct profile *fixture_random(uint32_t seed, const struct fixture_size *size)
{
	struct profile *p = new_cpu_profile();
	struct profile_label labels[LABELS_MAX];
	uint32_t stack[DEPTH_MAX];
	char name[64], id[32];

	assert_true(size->depth <= DEPTH_MAX && size->n_labels <= LABELS_MAX);
	seed = seed * 2654435761u + 1;
	for (uint32_t i = 0; i < size->n_functions; i++) {
		snprintf(name, sizeof(name), "ns::function_%u<%u>", i, next(&seed) % 9);
		snprintf(id, sizeof(id), "file%u.c", i % 97);
		add_function(p, name, id, i % 500);
	}
	for (uint32_t i = 0; i < size->n_mappings; i++) {
		snprintf(name, sizeof(name), "/lib/lib%u.so", i);
		snprintf(id, sizeof(id), "%08x", next(&seed));
		add_mapping(p, 0x10000 + i * 0x20000ull, name, id);
	}
	for (uint32_t i = 0; i < size->n_samples; i++) {
		uint32_t depth = 1 + next(&seed) % size->depth;

		for (uint32_t k = 0; k < depth; k++)
			stack[k] = random_location(p, &seed, size);
		add_sample(p, stack, depth, labels, random_labels(p, &seed, size->n_labels, labels),
			   1 + next(&seed) % 99);
	}
	return p;
}

/* Removes the marks of kernel and inlined frames. */
static void strip_marks(struct buf *b)
{
	size_t to = 0;

	for (size_t i = 0; i < b->len; i++) {
		if (b->len - i > 4 &&
		    (!memcmp(b->data + i, "_[k]", 4) || !memcmp(b->data + i, "_[i]", 4)))
			i += 3;
		else
			b->data[to++] = b->data[i];
	}
	b->len = to;
}

/* Lines are sorted and merged again, because some become equal without the marks. */
char *fixture_plain_folded(const struct profile *p, size_t value_num)
{
	const struct format_options opt = { .value_num = value_num };
	struct buf marked = { 0 }, plain = { 0 };
	struct profile *again;

	assert_int_equal(folded_write(p, &opt, &marked, NULL), 0);
	strip_marks(&marked);
	assert_int_equal(folded_read(&again, marked.data, marked.len, NULL, NULL), 0);
	assert_int_equal(folded_write(again, NULL, &plain, NULL), 0);
	buf_put_byte(&plain, 0);
	buf_fini(&marked);
	profile_free(again);
	return (char *)plain.data;
}

void fixture_assert_folded(const struct profile *p, size_t value_num, const char *want)
{
	char *got = fixture_plain_folded(p, value_num);

	assert_string_equal(got, want);
	free(got);
}

void fixture_assert_alike(const struct profile *p, size_t value_num, const struct profile *have,
			  size_t have_num)
{
	char *want = fixture_plain_folded(p, value_num);

	fixture_assert_folded(have, have_num, want);
	free(want);
}

void fixture_assert_refused(fixture_read_fn read, const char *text,
			    const struct codec_limits *limits, int code, const char *why)
{
	struct profile *p = NULL;
	struct err err = { 0 };

	assert_int_equal(read(&p, text, strlen(text), limits, &err), code);
	assert_string_equal(err.msg, why);
	assert_null(p);
}
