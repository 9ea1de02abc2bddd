/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of one metric follow each other in counters.def; the first one has its help text. */
#include "server/counters.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"

void counters_put(const struct counters *c, struct buf *out)
{
	static const struct {
		const char *metric, *labels, *help;
	} rows[] = {
#define X(sym, metric, labels, help) { metric, labels, help },
#include "server/counters.def"
#undef X
	};

	for (int i = 0; i < COUNTER_MAX; i++) {
		if (!i || strcmp(rows[i].metric, rows[i - 1].metric) != 0)
			buf_printf(out, "# HELP %s %s\n# TYPE %s counter\n", rows[i].metric,
				   rows[i].help, rows[i].metric);
		buf_printf(out, "%s%s %" PRIu64 "\n", rows[i].metric, rows[i].labels,
			   (uint64_t)c->v[i]);
	}
}
