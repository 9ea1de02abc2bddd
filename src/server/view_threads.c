/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of single samples: which threads have some, and each with its stack and time. */
#include <errno.h>

#include "base/clock.h"
#include "base/err.h"
#include "codec/page_json.h"
#include "query/threads.h"
#include "server/view.h"
#include "store/moments.h"
#include "store/stacks.h"
#include "store/symbols.h"

static int ask(struct view *v, struct moments *out)
{
	enum { HOUR_MS = 3600000 };
	const struct request *rq = &v->rq.side[SIDE_LEFT];
	struct rpc *rpc = v->rpc;

	if (v->rq.pid < 0 || v->rq.tid < 0)
		return query_bad(rpc, "pid and tid are not negative");
	if (rq->end - rq->start > HOUR_MS)
		return query_bad(rpc, "the range is longer than an hour");
	out->pid = v->rq.pid ? v->rq.pid : -1;
	out->tid = v->rq.tid ? v->rq.tid : -1;
	return query_asked(rpc,
			   threads_moments(out, rpc->store, &v->query[SIDE_LEFT].sel, rpc->err));
}

static void put_thread(struct view *v, const struct moments *m, const struct threads_row *row)
{
	const struct moments_thread *t = &m->threads.data[row->thread];
	const struct symbols *texts = m->stacks->symbols;

	json_object(&v->json);
	view_int(v, "pid", t->pid);
	view_int(v, "tid", t->tid);
	view_str(v, "name", symbols_string(texts, t->name));
	view_str(v, "process", symbols_string(texts, t->process));
	view_int(v, "samples", (int64_t)row->n);
	view_int(v, "total", row->value);
	view_int(v, "firstSeen", row->first_ns / CLOCK_MS_NS);
	view_int(v, "lastSeen", row->last_ns / CLOCK_MS_NS);
	json_object_end(&v->json);
}

int view_threads(struct view *v)
{
	_cleanup_(moments_fini) struct moments m = { 0 };
	_cleanup_(threads_fini) struct threads t = { 0 };
	size_t limit = 0;
	int r = view_limit(v, 1000, &limit);

	if (r == 0)
		r = ask(v, &m);
	if (r == 0)
		r = threads_build(&t, &m);
	if (r < 0)
		return r;
	json_object(&v->json);
	view_int(v, "found", (int64_t)t.len);
	json_key(&v->json, "threads");
	json_array(&v->json);
	for (size_t i = 0; i < t.len && i < limit; i++)
		put_thread(v, &m, &t.data[i]);
	json_array_end(&v->json);
	json_object_end(&v->json);
	return 0;
}

int view_thread(struct view *v)
{
	_cleanup_(page_tree_fini) struct page_tree tree = { 0 };
	_cleanup_(moments_fini) struct moments m = { 0 };
	int r = ask(v, &m);

	if (r == 0)
		r = threads_tree(&tree, &m, &v->query[SIDE_LEFT].sel);
	if (r == -EFBIG)
		err_set(v->rpc->err, r, "too many stacks: a shorter range has fewer");
	return r < 0 ? r : page_tree_write(&tree, &v->json);
}
