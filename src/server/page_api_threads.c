/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Methods on individual samples: the threads that have some, and the samples with stack and time.
 * The range is limited to an hour and to TIMED_SAMPLES_MAX samples, because each of them is in
 * memory.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/err.h"
#include "codec/page/page_json.h"
#include "flame/merged_stacks.h"
#include "flame/stack_dict.h"
#include "query/threads.h"
#include "server/page_api.h"
#include "store/timed_samples.h"

/*
 * Reads the samples of the range. A pid or tid of 0 in the request selects all, which is -1 in the
 * store. Called before the response begins, because it may fail.
 */
static int query_samples(struct page_api_call *call, struct timed_samples *out)
{
	enum { HOUR_MS = 3600000 };
	const struct request *rq = &call->rq.side[SIDE_LEFT];
	struct rpc *rpc = call->rpc;
	int r;

	if (call->rq.pid < 0 || call->rq.tid < 0)
		return query_invalid(rpc, "\"pid\" and \"tid\" must not be negative");
	if (rq->end - rq->start > HOUR_MS)
		return query_invalid(rpc, "range is longer than an hour");
	out->pid = call->rq.pid ? call->rq.pid : -1;
	out->tid = call->rq.tid ? call->rq.tid : -1;
	r = threads_samples(out, rpc->store, &call->query[SIDE_LEFT].sel, rpc->err);
	rpc->read.n_samples += out->all.len;
	return r;
}

/* Times are those of the first and of the last sample of the thread within the range. */
static void put_thread(struct page_api_call *call, const struct timed_samples *m,
		       const struct threads_row *row)
{
	const struct timed_samples_thread *t = &m->threads.data[row->thread];
	const struct stack_dict *texts = m->stacks->dict;

	json_object(&call->json);
	json_member_int(&call->json, "pid", t->pid);
	json_member_int(&call->json, "tid", t->tid);
	json_member_str(&call->json, "name", stack_dict_string(texts, t->name));
	json_member_str(&call->json, "process", stack_dict_string(texts, t->process));
	json_member_int(&call->json, "samples", (int64_t)row->n);
	json_member_int(&call->json, "total", row->value);
	json_member_int(&call->json, "firstSeen", row->first_ns / CLOCK_MS_NS);
	json_member_int(&call->json, "lastSeen", row->last_ns / CLOCK_MS_NS);
	json_object_end(&call->json);
}

int page_api_threads(struct page_api_call *call)
{
	_cleanup_(timed_samples_fini) struct timed_samples m = { 0 };
	_cleanup_(threads_fini) struct threads t = { 0 };
	size_t limit = 0;
	int r = page_api_limit(call, 1000, &limit);

	if (r == 0)
		r = query_samples(call, &m);
	if (r == 0)
		r = threads_build(&t, &m);
	if (r < 0)
		return r;
	json_object(&call->json);
	json_member_int(&call->json, "found", (int64_t)t.len);
	json_member_array(&call->json, "threads");
	for (size_t i = 0; i < t.len && i < limit; i++)
		put_thread(call, &m, &t.data[i]);
	json_array_end(&call->json);
	json_object_end(&call->json);
	return 0;
}

int page_api_thread(struct page_api_call *call)
{
	_cleanup_(page_tree_fini) struct page_tree tree = { 0 };
	_cleanup_(timed_samples_fini) struct timed_samples m = { 0 };
	int r = query_samples(call, &m);

	if (r == 0)
		r = threads_tree(&tree, &m, &call->query[SIDE_LEFT].sel);
	if (r == -EFBIG)
		err_set(call->rpc->err, r,
			"the range has too many different stacks; use a shorter range");
	return r < 0 ? r : page_tree_write(&tree, &call->json);
}
