/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of one metric follow each other in counters.def; the first one has its help text. Counters
 * are read one after the other while requests continue, so their values need not add up.
 */
#include "server/counters.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"

/*
 * The names follow enum refusal: first the rows of failures.def, then what is refused before a
 * handler runs. They are written in lower case, as docs/server.md lists them.
 */
static void put_refusals(const struct counters *c, struct buf *out)
{
	static const char *const causes[] = {
#define X(symbol, error, http, otlp, code, grpc, retry_s, counter, cause) #symbol,
#include "server/failures.def"
#undef X
		"HOST", "ORIGIN", "SCOPE", "FRAMING", "OVERLOAD", "STOPPING", "PATH", "VERB",
	};

	buf_put_str(out, "# HELP cameo_refusals_total Refused requests by cause; the causes are in "
			 "docs/server.md.\n# TYPE cameo_refusals_total counter\n");
	for (int i = 0; i < REFUSAL_MAX; i++) {
		char cause[32] = "";

		for (size_t k = 0; causes[i][k] && k + 1 < sizeof(cause); k++)
			cause[k] = (char)tolower(causes[i][k]);
		buf_printf(out, "cameo_refusals_total{cause=\"%s\"} %" PRIu64 "\n", cause,
			   (uint64_t)c->refusals[i]);
	}
}

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
	put_refusals(c, out);
}
