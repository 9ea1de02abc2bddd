/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels of contexts, process contexts, and files that publish.
 *
 * covers: src/lang/context/labels.c src/lang/context/process_context.c
 */
#include "lang/context/labels.h"

#include <errno.h>
#include <string.h>

#include "lang/context/context.h"
#include "lang/context/process_context.h"
#include "lang/language.h"
#include "tests/test.h"

static const struct context_names names = { .n = 2, .names = { "http.route", "userid" } };

static struct context otel_of(const char *attributes, size_t n)
{
	struct context c = { .kind = CONTEXT_OTEL, .len = CONTEXT_OTEL_HEAD + (uint32_t)n };

	c.otel.trace_id[15] = 0x36;
	c.otel.span_id[0] = 0xab;
	c.otel.attributes_len[0] = (uint8_t)n;
	memcpy(c.otel.attributes, attributes, n);
	return c;
}

static void expect_text(const struct context_set *set, const char *want, size_t len)
{
	assert_int_equal(set->len, len);
	assert_memory_equal(set->text, want, len);
}

#define EXPECT(set, want) expect_text(set, want, sizeof(want) - 1)

static void ids_are_hex_and_keys_are_sorted(void **state)
{
	const char attributes[] = "\1\5alice\0\5/cart";
	struct context c = otel_of(attributes, sizeof(attributes) - 1);
	struct context_set set;

	assert_true(context_is_valid(&c, sizeof(c)));
	context_set_make(&c, &names, &set);
	EXPECT(&set, "http.route\0/cart\0span_id\0ab00000000000000\0"
		     "trace_id\0"
		     "00000000000000000000000000000036\0userid\0alice\0");
	assert_int_equal(set.n_dropped, 0);
	(void)state;
}

static void the_last_of_equal_attributes_counts_and_unknown_keys_are_dropped(void **state)
{
	const char attributes[] = "\0\1a\0\1b\7\1x";
	struct context c = otel_of(attributes, sizeof(attributes) - 1);
	struct context_set set;

	memset(c.otel.trace_id, 0, sizeof(c.otel.trace_id));
	memset(c.otel.span_id, 0, sizeof(c.otel.span_id));
	context_set_make(&c, &names, &set);
	EXPECT(&set, "http.route\0b\0");
	assert_int_equal(set.n_dropped, 1);
	(void)state;
}

static void an_attribute_that_the_end_cuts_ends_the_list(void **state)
{
	const char attributes[] = "\0\1a\1\xff"
				  "bob";
	struct context c = otel_of(attributes, sizeof(attributes) - 1);
	struct context_set set;

	c.otel.attributes_len[1] = 0xff;
	context_set_make(&c, &names, &set);
	assert_int_equal(set.n, 3);
	assert_int_equal(set.n_dropped, 1);
	(void)state;
}

static void labels_are_copied_without_nuls_and_the_first_of_equal_keys_counts(void **state)
{
	struct context c = { .kind = CONTEXT_CUSTOM, .len = 2 * sizeof(struct context_label) };
	struct context_set set;

	for (size_t i = 0; i < 2; i++) {
		c.labels[i] = (struct context_label){ .key_len = 1, .value_len = 3, .key = "k" };
		memcpy(c.labels[i].value, i ? "two" : "o\0e", 3);
	}
	context_set_make(&c, NULL, &set);
	EXPECT(&set, "k\0o e\0");
	(void)state;
}

static void contexts_that_the_walk_does_not_write_are_refused(void **state)
{
	struct context c = otel_of("", 0);

	assert_false(context_is_valid(&c, 7));
	assert_false(context_is_valid(&c, CONTEXT_OTEL_HEAD + 7));
	c.len = CONTEXT_OTEL_HEAD - 1;
	assert_false(context_is_valid(&c, sizeof(c)));
	c.kind = CONTEXT_GOLANG;
	c.len = sizeof(struct context_label) + 1;
	assert_false(context_is_valid(&c, sizeof(c)));
	c.len = 0;
	assert_false(context_is_valid(&c, sizeof(c)));
	(void)state;
}

static void labels_are_read_back(void **state)
{
	const char text[] = "a\0001\0b\0002\0";
	const char *key, *value;
	size_t at = 0;

	assert_true(context_set_next(text, sizeof(text) - 1, &at, &key, &value));
	assert_string_equal(key, "a");
	assert_true(context_set_next(text, sizeof(text) - 1, &at, &key, &value));
	assert_string_equal(value, "2");
	assert_false(context_set_next(text, sizeof(text) - 1, &at, &key, &value));
	(void)state;
}

/* ---- process contexts ----------------------------------------------------------------------- */

/* ProcessContext { attributes: [ key map of "http.route" and "userid" ] } */
static const char message[] = "\x12\x3b\x0a\x1d"
			      "threadlocal.attribute_key_map"
			      "\x12\x1a\x2a\x18\x0a\x0c\x0a\x0a"
			      "http.route"
			      "\x0a\x08\x0a\x06"
			      "userid";

/* A process with a header at 0x1000 and a message at 0x2000. */
struct memory {
	uint8_t header[32];
	int n_reads;     /* of the header */
	int changes_for; /* that many reads of the header show another time */
};

static int read_memory(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct memory *m = ctx;

	if (addr == 0x2000 && len <= sizeof(message)) {
		memcpy(dst, message, len);
		return 0;
	}
	if (addr != 0x1000 || len != sizeof(m->header))
		return -EFAULT;
	m->header[16] = (uint8_t)(m->n_reads < m->changes_for ? m->n_reads + 1 : 99);
	m->n_reads++;
	memcpy(dst, m->header, len);
	return 0;
}

static void init(struct memory *m)
{
	*m = (struct memory){ .header = "OTEL_CTX\2" };
	m->header[12] = sizeof(message) - 1;
	m->header[25] = 0x20;
}

static int read_context(struct memory *m, struct process_context *out)
{
	const struct lang_process p = { .read = read_memory, .ctx = m };

	process_context_read(&p, 0x1000, out);
	assert_int_equal(process_context_check(out), 0);
	return out->result;
}

static void names_of_keys_are_read(void **state)
{
	struct process_context c;
	struct memory m;

	init(&m);
	assert_int_equal(read_context(&m, &c), 0);
	assert_int_equal(c.names.n, 2);
	assert_string_equal(c.names.names[0], "http.route");
	assert_string_equal(c.names.names[1], "userid");
	(void)state;
}

static void a_context_that_changes_is_read_again(void **state)
{
	struct process_context c;
	struct memory m;

	init(&m);
	m.changes_for = 3;
	assert_int_equal(read_context(&m, &c), 0);
	assert_int_equal(m.n_reads, 6);
	init(&m);
	m.changes_for = 100;
	assert_int_equal(read_context(&m, &c), -EAGAIN);
	assert_int_equal(m.n_reads, 6);
	assert_int_equal(c.names.n, 0);
	(void)state;
}

static void other_versions_and_sizes_are_refused(void **state)
{
	struct process_context c;
	struct memory m;

	init(&m);
	m.header[8] = 1;
	assert_int_equal(read_context(&m, &c), -EBADMSG);
	init(&m);
	m.header[15] = 0xff;
	assert_int_equal(read_context(&m, &c), -EBADMSG);
	init(&m);
	m.header[0] = 'x';
	assert_int_equal(read_context(&m, &c), -ENOENT);
	(void)state;
}

static void a_cut_message_is_refused(void **state)
{
	struct context_names out;

	for (size_t n = 1; n < sizeof(message) - 1; n++)
		assert_int_equal(process_context_parse((const uint8_t *)message, n, &out),
				 -EBADMSG);
	(void)state;
}

static void layouts_of_a_reader_are_checked(void **state)
{
	struct context_layout l = { .kind = CONTEXT_GOLANG, .g_labels = 352 };

	assert_int_equal(context_layout_check(&l), 0);
	l.g_labels = 1 << 20;
	assert_int_equal(context_layout_check(&l), -EBADMSG);
	l = (struct context_layout){ .kind = CONTEXT_MAX };
	assert_int_equal(context_layout_check(&l), -EBADMSG);
	(void)state;
}

TEST_GROUP(test_context, TEST(ids_are_hex_and_keys_are_sorted),
	   TEST(the_last_of_equal_attributes_counts_and_unknown_keys_are_dropped),
	   TEST(an_attribute_that_the_end_cuts_ends_the_list),
	   TEST(labels_are_copied_without_nuls_and_the_first_of_equal_keys_counts),
	   TEST(contexts_that_the_walk_does_not_write_are_refused), TEST(labels_are_read_back),
	   TEST(names_of_keys_are_read), TEST(a_context_that_changes_is_read_again),
	   TEST(other_versions_and_sizes_are_refused), TEST(a_cut_message_is_refused),
	   TEST(layouts_of_a_reader_are_checked))
