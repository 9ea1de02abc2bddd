/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store has the times of a window's samples and their total value, which is divided evenly
 * among them. Windows that began before the range may reach into it, so the query starts earlier.
 *
 * The even division is right where each sample stands for one period, and an estimate for waits,
 * which differ in length.
 */
#include "query/time_heat_map.h"

#include <errno.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/saturate.h"
#include "flame/merged_stacks.h"
#include "store/store.h"

struct builder {
	struct time_heat_map *out;
	int64_t start_ns, end_ns, cell_ns;
};

void time_heat_map_fini(struct time_heat_map *c)
{
	vec_fini(c);
}

static int on_window(void *ctx, const struct store_point *window, const int64_t *times, size_t n)
{
	const struct builder *b = ctx;
	int64_t part = n ? window->value / (int64_t)n : 0;

	if (window->time_ns >= b->start_ns)
		b->out->total = saturating_add(b->out->total, window->value);
	for (size_t i = 0; i < n; i++) {
		size_t at;

		if (times[i] < b->start_ns || times[i] > b->end_ns)
			continue;
		at = (size_t)((times[i] - b->start_ns) / b->cell_ns);
		b->out->data[at] = saturating_add(b->out->data[at], part);
		b->out->timed = saturating_add(b->out->timed, part);
	}
	return 0;
}

int time_heat_map_build(struct time_heat_map *out, struct store *s, const struct store_select *sel,
			int64_t cell_ms, struct err *err)
{
	struct builder b = { out, sel->start_ns, sel->end_ns, cell_ms * CLOCK_MS_NS };
	int64_t before = sel->start_ns < TIME_HEAT_MAP_LONGEST_WINDOW_NS
				 ? sel->start_ns
				 : TIME_HEAT_MAP_LONGEST_WINDOW_NS;
	struct store_select wider = *sel;
	int64_t n = (sel->end_ns - sel->start_ns) / CLOCK_MS_NS / cell_ms + 1;
	int r;

	if (n > TIME_HEAT_MAP_MAX_CELLS)
		return err_set(err, -EINVAL,
			       "the heat map has more than %d cells; use longer cells",
			       TIME_HEAT_MAP_MAX_CELLS);
	wider.start_ns -= before;
	r = vec_reserve(out, (size_t)n);
	if (r < 0)
		return r;
	out->len = (size_t)n;
	for (size_t i = 0; i < out->len; i++)
		out->data[i] = 0;
	return store_sample_times(s, &wider, on_window, &b, err);
}
