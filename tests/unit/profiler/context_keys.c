/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of records with a context. Names that a process publishes are tested by e2e/traces.py. */
#include "profiler/context_keys.h"

#include <string.h>

#include "bpf/shared/abi.h"
#include "lang/language.h"
#include "tests/test.h"

struct labelled_record {
	struct record_header head;
	struct context context;
};

static struct labelled_record record_of(uint8_t kind)
{
	struct labelled_record r = { .head.n_context = CONTEXT_WORDS_MAX };

	r.context.kind = kind;
	r.context.len = kind == CONTEXT_OTEL ? CONTEXT_OTEL_HEAD : sizeof(r.context.labels[0]);
	return r;
}

static struct sample_labels labels_of(struct context_keys *k, const struct labelled_record *r)
{
	const struct lang_process p = { .pid = 1 };

	return context_keys_labels(k, &p, &r->head, sizeof(*r), 1);
}

static void a_record_with_a_context_has_labels(void **state)
{
	static const char text[] = "k\0value";
	struct labelled_record r = record_of(CONTEXT_CUSTOM);
	_cleanup_(context_keys_freep) struct context_keys *k = NULL;
	struct sample_labels labels;

	r.context.labels[0] = (struct context_label){
		.key_len = 1, .value_len = 5, .key = "k", .value = "value"
	};
	assert_int_equal(context_keys_new(&k, NULL), 0);
	labels = labels_of(k, &r);
	assert_int_equal(labels.len, sizeof(text));
	assert_memory_equal(labels.text, text, sizeof(text));
	r.head.n_context = 0;
	assert_int_equal(labels_of(k, &r).len, 0);
	(void)state;
}

static void an_invalid_context_is_counted(void **state)
{
	struct labelled_record r = record_of(CONTEXT_MAX);
	_cleanup_(context_keys_freep) struct context_keys *k = NULL;
	uint64_t n_bad = 0, n_dropped = 0;

	assert_int_equal(context_keys_new(&k, NULL), 0);
	assert_int_equal(labels_of(k, &r).len, 0);
	context_keys_stats(k, &n_bad, &n_dropped);
	assert_int_equal(n_bad, 1);
	assert_int_equal(n_dropped, 0);
	(void)state;
}

static void labels_that_the_kernel_has_counted_are_not_counted_again(void **state)
{
	struct labelled_record r = record_of(CONTEXT_CUSTOM);
	_cleanup_(context_keys_freep) struct context_keys *k = NULL;
	uint64_t n_bad = 0, n_dropped = 0;

	r.context.n_dropped = 3;
	r.context.labels[0] = (struct context_label){ .value_len = 1, .value = "v" };
	assert_int_equal(context_keys_new(&k, NULL), 0);
	assert_int_equal(labels_of(k, &r).len, 0);
	context_keys_stats(k, &n_bad, &n_dropped);
	assert_int_equal(n_bad, 0);
	assert_int_equal(n_dropped, 1); /* the label without a key */
	(void)state;
}

TEST_GROUP(test_context_keys, TEST(a_record_with_a_context_has_labels),
	   TEST(an_invalid_context_is_counted),
	   TEST(labels_that_the_kernel_has_counted_are_not_counted_again))
