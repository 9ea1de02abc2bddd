/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store knows when samples were taken and what they are together: each of a
 * window's samples counts the same part. Windows that began before the range reach
 * into it, so those of some time before are looked at, too.
 */
#include "query/cells.h"

#include <errno.h>

#include "base/clock.h"
#include "base/err.h"
#include "store/stacks.h"
#include "store/store.h"

struct builder {
	struct cells *out;
	int64_t start_ns, end_ns, cell_ns;
};

void cells_fini(struct cells *c)
{
	vec_fini(c);
}

static int on_window(void *ctx, const struct store_point *window, const int64_t *times, size_t n)
{
	const struct builder *b = ctx;
	int64_t part = n ? window->value / (int64_t)n : 0;

	if (window->time_ns >= b->start_ns)
		b->out->total = stacks_sum(b->out->total, window->value);
	for (size_t i = 0; i < n; i++) {
		size_t at;

		if (times[i] < b->start_ns || times[i] > b->end_ns)
			continue;
		at = (size_t)((times[i] - b->start_ns) / b->cell_ns);
		b->out->data[at] = stacks_sum(b->out->data[at], part);
		b->out->timed = stacks_sum(b->out->timed, part);
	}
	return 0;
}

int cells_build(struct cells *out, struct store *s, const struct store_select *sel, int64_t cell_ms,
		struct err *err)
{
	struct builder b = { out, sel->start_ns, sel->end_ns, cell_ms * CLOCK_MS_NS };
	int64_t before =
		sel->start_ns < CELLS_LONGEST_WINDOW_NS ? sel->start_ns : CELLS_LONGEST_WINDOW_NS;
	struct store_select wider = *sel;
	int64_t n = (sel->end_ns - sel->start_ns) / CLOCK_MS_NS / cell_ms + 1;
	int r;

	if (n > CELLS_MAX)
		return err_set(err, -EINVAL, "more than %d cells", CELLS_MAX);
	wider.start_ns -= before;
	r = vec_reserve(out, (size_t)n);
	if (r < 0)
		return r;
	out->len = (size_t)n;
	for (size_t i = 0; i < out->len; i++)
		out->data[i] = 0;
	return store_times(s, &wider, on_window, &b, err);
}
