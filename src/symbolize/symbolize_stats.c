/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/symbolize_stats.h"

#include <stdio.h>
#include <string.h>

#include "symbolize/frame_symbols.h"

/* Interpreted and generated code is more specific about a program's language than native code. */
static int kind_rank(uint8_t kind)
{
	switch (kind) {
	case PROFILE_FRAME_ERROR:
	case PROFILE_FRAME_UNKNOWN:
		return 0;
	case PROFILE_FRAME_KERNEL:
		return 1;
	case PROFILE_FRAME_NATIVE:
		return 2;
	default:
		return 2 + kind;
	}
}

/*
 * Counts samples with unknown generated code. A majority vote (Boyer and Moore) finds the
 * program that has more than half of them, if there is one, in constant memory.
 */
static void count_generated(struct symbolize_stats *st, const char *comm, uint64_t n)
{
	st->n_generated += n;
	if (!strncmp(st->generated_by, comm, sizeof(st->generated_by) - 1)) {
		st->generated_votes += n;
	} else if (st->generated_votes >= n) {
		st->generated_votes -= n;
	} else {
		st->generated_votes = n - st->generated_votes;
		snprintf(st->generated_by, sizeof(st->generated_by), "%s", comm);
	}
}

/*
 * A stack that ends early has an error word as its outermost frame, whose payload is the reason.
 */
static uint64_t error_of(const struct symbolize_stats_sample *s)
{
	uint64_t last = s->n ? s->words[s->refs[s->n - 1]].word : 0;
	uint64_t error = last & FRAME_PAYLOAD_MASK;

	return last >> FRAME_KIND_SHIFT == FRAME_ERROR && error < WALK_ERR_MAX ? error : WALK_OK;
}

void symbolize_stats_count(struct symbolize_stats *st, const struct symbolize_stats_sample *s)
{
	bool has_generated = false, is_approximate = false;
	uint8_t kind = PROFILE_FRAME_UNKNOWN;
	uint64_t error = error_of(s);

	for (size_t i = 0; i < s->n; i++) {
		const struct frame_location *w = &s->words[s->refs[i]];

		if (kind_rank(w->kind) > kind_rank(kind))
			kind = w->kind;
		st->n_frames += w->kind != PROFILE_FRAME_ERROR ? s->count : 0;
		if (w->lost) {
			st->n_unnamed += s->count;
			st->names_lost[w->lost] += s->count;
		}
		is_approximate |= w->is_approximate;
		has_generated |= w->lost && w->word >> FRAME_KIND_SHIFT == FRAME_ADDRESS;
	}
	st->n_approximate += is_approximate ? s->count : 0;
	if (has_generated)
		count_generated(st, s->comm, s->count);
	if (error == WALK_OK && s->is_searched)
		st->searched_by_kind[kind] += s->count;
	else
		st->by_kind[kind][error] += s->count;
	st->by_event[s->event] += s->count;
}

void symbolize_stats_add(struct symbolize_stats *sum, const struct symbolize_stats *st)
{
	sum->n_frames += st->n_frames;
	sum->n_unnamed += st->n_unnamed;
	for (int i = 0; i < NAME_LOSS_MAX; i++)
		sum->names_lost[i] += st->names_lost[i];
	for (int k = 0; k < PROFILE_FRAME_MAX; k++)
		for (int why = 0; why < WALK_ERR_MAX; why++)
			sum->by_kind[k][why] += st->by_kind[k][why];
	for (int k = 0; k < PROFILE_FRAME_MAX; k++)
		sum->searched_by_kind[k] += st->searched_by_kind[k];
}
