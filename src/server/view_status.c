/* SPDX-License-Identifier: Apache-2.0 */
/* Answers about those who send and about what is kept. */
#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "query/targets.h"
#include "server/view.h"

/* What is below 0 is not known. */
static void put_count(struct view *v, const char *key, int64_t n)
{
	json_key(&v->json, key);
	if (n < 0)
		json_null(&v->json);
	else
		json_int(&v->json, n);
}

static void put_target(struct view *v, const struct targets *t, uint32_t id)
{
	const struct target *target = &t->data[id];

	json_object(&v->json);
	json_key(&v->json, "labels");
	json_object(&v->json);
	for (size_t i = 0; i < t->groups.n_by; i++) {
		const char *value = groups_value(&t->groups, id, i);

		if (value)
			view_str(v, t->groups.by[i], value);
	}
	json_object_end(&v->json);
	view_int(v, "firstSeen", target->first_ns / CLOCK_MS_NS);
	view_int(v, "lastSeen", target->last_ns / CLOCK_MS_NS);
	view_int(v, "profiles", (int64_t)target->n_windows);
	put_count(v, "samples", target->samples);
	put_count(v, "lost", target->lost);
	json_object_end(&v->json);
}

int view_targets(struct view *v)
{
	static const char *const normal[] = { "host.name", "service_name" };
	_cleanup_(targets_fini) struct targets t = { 0 };
	const char *const *by = v->rq.by.len ? v->rq.by.data : normal;
	size_t n_by = v->rq.by.len ? v->rq.by.len : sizeof(normal) / sizeof(normal[0]);
	int r = targets_build(&t, v->rpc->store, &v->query[SIDE_LEFT].sel, by, n_by, v->rpc->err);

	if (r < 0)
		return query_asked(v->rpc, r);
	json_object(&v->json);
	json_key(&v->json, "targets");
	json_array(&v->json);
	for (uint32_t i = 0; i < t.len; i++)
		if (t.data[i].n_windows)
			put_target(v, &t, i);
	json_array_end(&v->json);
	json_object_end(&v->json);
	return 0;
}
