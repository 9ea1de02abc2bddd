/* SPDX-License-Identifier: Apache-2.0 */
#include "export/rare_log.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"

static const uint64_t EVERY_NS = 60ULL * CLOCK_SECOND_NS;

bool rare_log_is_due(struct rare_log *l)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (now_ns < l->next_ns) {
		l->n_muted++;
		return false;
	}
	l->next_ns = now_ns + EVERY_NS;
	return true;
}

void rare_log_make_due(struct rare_log *l)
{
	l->next_ns = 0;
}

/* The space that remains after @n bytes. */
static size_t room(int n)
{
	return n < RARE_LOG_LINE_MAX ? (size_t)(RARE_LOG_LINE_MAX - n) : 0;
}

void rare_log_format(struct rare_log *l, const char *name, const char *what,
		     const struct rare_log_state *state, char line[RARE_LOG_LINE_MAX])
{
	int n = snprintf(line, RARE_LOG_LINE_MAX, "%s: %s", name, what);

	if (state->n_waiting && room(n))
		n += snprintf(line + n, room(n), "; %" PRIu64 " waiting", state->n_waiting);
	if (state->n_dropped && room(n))
		n += snprintf(line + n, room(n), "; %" PRIu64 " dropped so far", state->n_dropped);
	if (l->n_muted && room(n))
		snprintf(line + n, room(n), " (and %" PRIu64 " more such messages)", l->n_muted);
	l->n_muted = 0;
}
