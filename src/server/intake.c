/* SPDX-License-Identifier: Apache-2.0 */
#include "server/intake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "profile/profile.h"
#include "server/naming.h"
#include "server/quota.h"
#include "server/rpc.h"

#define MAX_AHEAD_NS (600LL * CLOCK_SECOND_NS)

enum {
	MAX_NAME = 1024,
	MAX_VALUE = 2048,
	MAX_PROFILES = 10000,
};

void intake_init(struct intake *in)
{
	*in = (struct intake){ .now_ns = (int64_t)clock_unix_ns() };
}

void intake_fini(struct intake *in)
{
	for (size_t i = 0; i < in->owned.len; i++)
		profile_free(in->owned.data[i]);
	vec_fini(&in->owned);
	vec_fini(&in->profiles);
	message_memory_fini(&in->memory);
}

struct codec_limits intake_limits(void)
{
	return (struct codec_limits){
		.bytes = 64 << 20,
		.strings = 1 << 20,
		.things = 1 << 20,
		.samples = 1 << 20,
		.depth = 4096,
		.labels = 64,
		.label_sum = 4 << 20,
	};
}

const char *intake_text(struct intake *in, const char *text)
{
	char *copy = strdup(text);

	if (copy && vec_push(&in->memory, copy) < 0) {
		free(copy);
		return NULL;
	}
	return copy;
}

static int cmp_label(const void *a, const void *b)
{
	return strcmp(((const struct store_label *)a)->name, ((const struct store_label *)b)->name);
}

static const struct store_label *find_label(const struct intake_labels *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i].name, name))
			return &l->v[i];
	return NULL;
}

bool intake_has_label(const struct intake_labels *l, const char *name)
{
	return find_label(l, name) != NULL;
}

int intake_label(struct intake_labels *l, const char *name, const char *value, struct err *err)
{
	const struct store_label *same;

	if (!name || !name[0])
		return err_set(err, -EINVAL, "a label has no name");
	value = value ? value : "";
	if (strlen(name) > MAX_NAME || strlen(value) > MAX_VALUE)
		return err_set(err, -EINVAL, "label %.60s is too long", name);
	if (!strcmp(name, "__name__"))
		l->name = value;
	/* these say how a client sends, not what it is */
	if (!strcmp(name, "__name__") || !strcmp(name, "__delta__") ||
	    !strcmp(name, "__session_id__"))
		return 0;
	same = find_label(l, name);
	if (same && !strcmp(same->value, value))
		return 0;
	if (same)
		return err_set(err, -EINVAL, "label %.60s has two values", name);
	if (l->n == INTAKE_MAX_LABELS)
		return err_set(err, -EINVAL, "more than %d labels", INTAKE_MAX_LABELS);
	l->v[l->n++] = (struct store_label){ name, value };
	return 0;
}

void intake_labels_end(struct intake_labels *l, const char *service)
{
	struct store_label *own = NULL;

	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i].name, "service_name"))
			own = &l->v[i];
	if (!own) {
		own = &l->v[l->n++];
		*own = (struct store_label){ "service_name", "" };
	}
	if (!own->value[0])
		own->value = service && service[0] ? service : "unknown_service";
	qsort(l->v, l->n, sizeof(*l->v), cmp_label);
}

static int copy_labels(struct intake *in, const struct intake_labels *l,
		       const struct store_label **out)
{
	struct store_label *labels = malloc((l->n + 1) * sizeof(*labels));

	if (!labels)
		return -ENOMEM;
	if (vec_push(&in->memory, labels) < 0) {
		free(labels);
		return -ENOMEM;
	}
	memcpy(labels, l->v, l->n * sizeof(*labels));
	*out = labels;
	return 0;
}

int intake_profile(struct intake *in, const struct intake_labels *l, const char *id,
		   struct profile *p, struct err *err)
{
	struct store_profile sp = { .name = l->name, .n_labels = l->n, .id = id, .profile = p };
	int64_t time_ns = profile_meta(p)->time_ns;
	int r;

	if (vec_push(&in->owned, p) < 0) {
		profile_free(p);
		return -ENOMEM;
	}
	if (time_ns < 0 || time_ns > in->now_ns + MAX_AHEAD_NS)
		return err_set(err, -EINVAL, "a profile's time is outside of what is taken");
	if (in->profiles.len >= MAX_PROFILES)
		return err_set(err, -EINVAL, "more than %d profiles", MAX_PROFILES);
	r = copy_labels(in, l, &sp.labels);
	if (r < 0)
		return r;
	sp.id_time_ns = time_ns;
	sp.time_ns = time_ns ? time_ns : in->now_ns;
	return vec_push(&in->profiles, sp);
}

int intake_store(struct intake *in, struct rpc *rpc)
{
	int r;

	for (size_t i = 0; rpc->naming && i < in->owned.len; i++)
		if (naming_apply(rpc->naming, in->owned.data[i]) < 0)
			return -ENOMEM;
	r = quota_take(rpc->quota, rpc->tenant, in->profiles.data, in->profiles.len, rpc->err);
	if (r < 0)
		return r;
	return store_append(rpc->store, rpc->tenant, in->profiles.data, in->profiles.len, rpc->err);
}
