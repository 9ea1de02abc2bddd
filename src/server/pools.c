/* SPDX-License-Identifier: Apache-2.0 */
#include "server/pools.h"

#include "base/buf.h"
#include "net/http_pool.h"
#include "net/http_server.h"

static const struct {
	const char *name;
	struct http_pool_options opt;
	unsigned int waiting_threads;
} rows[] = {
#define X(symbol, label, threads, waiting, queue, nicer, query)                                    \
	[POOL_##symbol] = { label,                                                                 \
			    { .name = "http-" label,                                               \
			      .n_workers = threads,                                                \
			      .max_queue = queue,                                                  \
			      .nice = nicer,                                                       \
			      .is_query = query },                                                 \
			    waiting },
#include "server/pools.def"
#undef X
};

void pools_options(struct http_pool_options out[POOL_MAX], bool waiting)
{
	for (int i = 0; i < POOL_MAX; i++) {
		out[i] = rows[i].opt;
		if (waiting)
			out[i].n_workers = rows[i].waiting_threads;
	}
}

enum pool pool_of(enum api_cost cost)
{
	switch (cost) {
	case API_FREE:
		return POOL_FREE;
	case API_LOOKUP:
		return POOL_LOOKUP;
	case API_PUSH:
		return POOL_PUSH;
	case API_VERIFY:
		return POOL_VERIFY;
	case API_QUERY:
		break;
	}
	return POOL_QUERY;
}

void pools_put(const struct http_server *s, struct buf *out)
{
	static const char *const states[] = { "waiting", "running" };

	buf_put_str(out,
		    "# HELP cameo_requests Requests that wait for a worker thread or have one.\n"
		    "# TYPE cameo_requests gauge\n");
	for (unsigned int i = 0; i < POOL_MAX; i++) {
		const struct http_pool_state state = http_server_pool_state(s, i);
		const unsigned int n[] = { state.n_waiting, state.n_running };

		for (int k = 0; k < 2; k++)
			buf_printf(out, "cameo_requests{pool=\"%s\",state=\"%s\"} %u\n",
				   rows[i].name, states[k], n[k]);
	}
}
