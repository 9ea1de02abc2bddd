/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of losses is complete in itself: each line has a counter of its own, a reason and a
 * text.
 */
#include "symbolize/losses.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/session.h"
#include "symbolize/symbolize.h"
#include "tests/test.h"

struct counts {
	struct session_stats session;
	struct symbolize_stats symbols;
};

static void nothing_lost_is_zero_everywhere(void **state)
{
	_cleanup_(freep) struct counts *c = calloc(1, sizeof(*c));
	const struct loss_sources in = { .session = &c->session, .symbols = &c->symbols };

	for (int i = 0; i < LOSS_MAX; i++)
		assert_int_equal(losses_value((enum loss)i, &in), 0);
}

static void every_loss_has_a_counter(void **state)
{
	_cleanup_(freep) struct counts *c = calloc(1, sizeof(*c));
	const struct loss_sources in = {
		.session = &c->session,
		.symbols = &c->symbols,
		.n_unsent = 1,
		.n_series_over = 1,
		.n_unread = 1,
		.n_windows_failed = 1,
	};

	memset(c, 0x01, sizeof(*c));
	for (int i = 0; i < LOSS_MAX; i++)
		if (!losses_value((enum loss)i, &in))
			fail_msg("%s has no counter", losses_reason((enum loss)i));
}

/*
 * A counter of the kernel is a loss or is known not to be one: a new one has to be added to the
 * list of losses, or here.
 */
static void every_counter_of_the_kernel_is_a_loss_or_known(void **state)
{
	static const bool is_no_loss[COUNTER_MAX] = {
		[COUNTER_SAMPLES] = true,
		[COUNTER_IDLE] = true,
		[COUNTER_FILTERED] = true,
		[COUNTER_SENT] = true,
		[COUNTER_SENT_RAW] = true,
		[COUNTER_COMPLETE] = true,
		[COUNTER_FRAMES] = true,
		[COUNTER_CACHE_HITS] = true,
		[COUNTER_WINDOW_FILLS] = true,
		[COUNTER_RUN_NS] = true,
		[COUNTER_FUNCTIONS] = true,
		[COUNTER_OFF_INTERVALS] = true,
		[COUNTER_OFF_STACKS] = true,
		[COUNTER_OFF_THINNED] = true,
		[COUNTER_OFF_SHORT] = true,
		[COUNTER_OFF_SHORT_NS] = true,
		[COUNTER_OFF_UNSAMPLED] = true,
		[COUNTER_OFF_WAKERS] = true,
		[COUNTER_FAULTS_THINNED] = true,
		[COUNTER_CONTEXTS] = true,
		/* of heap allocations, which the agent does not record: the summary reports them */
		[COUNTER_ALLOCS] = true,
		[COUNTER_FREES] = true,
		[COUNTER_ALLOCS_STEPPED] = true,
		[COUNTER_FREES_LOST] = true,
		[COUNTER_BLOCKS_LOST] = true,
	};
	_cleanup_(freep) struct counts *c = calloc(1, sizeof(*c));
	const struct loss_sources in = { .session = &c->session, .symbols = &c->symbols };

	for (int k = 0; k < COUNTER_MAX; k++) {
		int n = 0;

		c->session.sampler.counts.n[k] = 1;
		for (int i = 0; i < LOSS_MAX; i++)
			n += losses_value((enum loss)i, &in) != 0;
		c->session.sampler.counts.n[k] = 0;
		assert_int_equal(n, is_no_loss[k] ? 0 : 1);
	}
}

/* Changes each 8 bytes of the statistics in turn: no two losses may count the same thing. */
static void no_two_losses_share_a_counter(void **state)
{
	_cleanup_(freep) struct counts *c = calloc(1, sizeof(*c));
	const struct loss_sources in = { .session = &c->session, .symbols = &c->symbols };

	for (size_t at = 0; at < sizeof(*c) / sizeof(uint64_t); at++) {
		uint64_t one = 1;
		int n = 0;

		memcpy((uint8_t *)c + at * sizeof(one), &one, sizeof(one));
		for (int i = 0; i < LOSS_MAX; i++)
			n += losses_value((enum loss)i, &in) != 0;
		assert_true(n <= 1);
		memset((uint8_t *)c + at * sizeof(one), 0, sizeof(one));
	}
}

static void reasons_are_distinct_within_a_metric_and_have_a_text(void **state)
{
	for (int i = 0; i < LOSS_MAX; i++) {
		enum loss_kind kind = losses_kind((enum loss)i);

		assert_true(strlen(losses_text((enum loss)i)) > 8);
		assert_true(strlen(losses_reason((enum loss)i)) > 2);
		assert_int_equal(strncmp(losses_metric(kind), "cameo_", 6), 0);
		for (int k = 0; k < i; k++)
			if (losses_kind((enum loss)k) == kind)
				assert_string_not_equal(losses_reason((enum loss)k),
							losses_reason((enum loss)i));
	}
}

static void every_kind_has_losses_and_nouns_of_its_own(void **state)
{
	for (int kind = 0; kind < LOSS_KIND_MAX; kind++) {
		int n = 0;

		for (int i = 0; i < LOSS_MAX; i++)
			n += (int)losses_kind((enum loss)i) == kind;
		assert_true(n > 0);
		assert_true(strlen(losses_help((enum loss_kind)kind)) > 8);
		assert_string_not_equal(losses_noun((enum loss_kind)kind, 1),
					losses_noun((enum loss_kind)kind, 2));
	}
}

TEST_GROUP(test_losses, TEST(nothing_lost_is_zero_everywhere), TEST(every_loss_has_a_counter),
	   TEST(no_two_losses_share_a_counter),
	   TEST(every_counter_of_the_kernel_is_a_loss_or_known),
	   TEST(reasons_are_distinct_within_a_metric_and_have_a_text),
	   TEST(every_kind_has_losses_and_nouns_of_its_own))
