/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/wait_records.h"

#include <errno.h>
#include <string.h>

#include "base/vec.h"
#include "profiler/offcpu.h"
#include "profiler/sample_counts.h"
#include "profiler/wakers.h"
#include "sampler/sampler.h"

int wait_records_keep(struct offcpu *o, struct sampler *sampler, const struct wait_stack *s)
{
	const struct record_header *h = s->head;
	struct off_thread now;
	struct waking k;

	if (h->flags & RECORD_WAKER) {
		k = waking_of(h, s->thread, s->words, s->n);
		return offcpu_add_waker(o, &k);
	}
	if (s->is_asleep &&
	    (sampler_get_thread(sampler, h->tid, &now) < 0 || now.out_ns != h->time_ns))
		return 0;
	return offcpu_add_stack(o, s->thread, s->labels, h->time_ns, s->words, s->n);
}

/* Counts a wait with the frames of its wakers, which precede its own. */
static int count_with_wakers(struct sample_counts *c, const struct offcpu_time *t,
			     const struct sample_counts_wait *wait)
{
	struct waker_words all = { 0 };
	int r = waker_chain_put(t->wakers, c, &all);

	if (r == 0)
		r = vec_reserve(&all, all.len + t->n_words);
	if (r == 0) {
		memcpy(all.data + all.len, t->words, t->n_words * sizeof(*t->words));
		r = sample_counts_add_wait(c, t->thread, wait, all.data, all.len + t->n_words);
	}
	vec_fini(&all);
	return r;
}

int wait_records_count(struct sample_counts *c, const struct offcpu_time *t)
{
	const struct sample_counts_wait wait = { .ns = t->ns,
						 .count = t->count,
						 .state = (uint8_t)t->state,
						 .is_thinned = t->is_thinned,
						 .place_plus_1 = t->place_plus_1,
						 .labels = t->labels };

	if (t->wakers)
		return count_with_wakers(c, t, &wait);
	return sample_counts_add_wait(c, t->thread, &wait, t->words, t->n_words);
}
