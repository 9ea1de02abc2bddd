/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The labels of a process are computed once and refreshed every KEEP_S seconds, since a
 * container's name may become known later. Series are counted by a 64-bit hash of their
 * labels, in two half-hour periods; a collision undercounts by one.
 *
 * Two half-hour periods approximate a sliding hour without timestamps per series: a series that is
 * in use is moved to the current period, and what was not used in the previous one is forgotten.
 */
#include "metadata/labeler.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/vec.h"
#include "metadata/cgroup.h"
#include "metadata/process_info.h"
#include "metadata/rules.h"

enum { KEEP_S = 30, PERIOD_S = 1800, SELECTED_MAX = 32, SHARE = 3 };

struct counted {
	uint64_t hash, user;
};

struct series {
	struct {
		VEC(struct counted);
	} all;
	struct index by_hash;
};

struct labeler {
	char *selected_text;
	const char *selected[SELECTED_MAX]; /* point into selected_text */
	size_t n_selected;
	char *env[PROCESS_INFO_ENV_MAX];
	size_t n_env, n_service;
	char *host;
	struct rules *rules;
	struct containers *containers;
	size_t max_series;
	struct series current, previous;
	uint64_t next_period_ns;
};

static int parse_selected(struct labeler *l, const char *list, struct err *err)
{
	char *save = NULL;

	l->selected_text = strdup(list);
	if (!l->selected_text)
		return -ENOMEM;
	for (char *s = strtok_r(l->selected_text, ", ", &save); s;
	     s = strtok_r(NULL, ", ", &save)) {
		if (!metadata_label_name_is_valid(s))
			return err_set(err, -EINVAL, "labels: invalid label name \"%.60s\"", s);
		if (l->n_selected >= SELECTED_MAX)
			return err_set(err, -EINVAL, "labels: expected at most %d labels",
				       SELECTED_MAX);
		l->selected[l->n_selected++] = s;
	}
	return 0;
}

static int env_copy(struct labeler *l, const struct labeler_opts *opts)
{
	for (; l->n_env < opts->n_env && l->n_env < PROCESS_INFO_ENV_MAX; l->n_env++) {
		l->env[l->n_env] = strdup(opts->env[l->n_env]);
		if (!l->env[l->n_env])
			return -ENOMEM;
	}
	l->n_service = opts->n_service;
	l->host = strdup(opts->host);
	return l->host ? 0 : -ENOMEM;
}

int labeler_new(struct labeler **out, const struct labeler_opts *opts, struct err *err)
{
	_cleanup_(labeler_freep) struct labeler *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	l->max_series = opts->max_series;
	r = parse_selected(l, opts->labels, err);
	if (r == 0)
		r = env_copy(l, opts);
	if (r == 0)
		r = rules_new(&l->rules);
	for (size_t i = 0; i < opts->n_rules && r == 0; i++)
		r = rules_add(l->rules, opts->rules[i], err);
	if (r == 0)
		r = containers_new(&l->containers, &opts->containers, err);
	if (r < 0)
		return r;
	*out = steal_ptr(&l);
	return 0;
}

static void series_fini(struct series *s)
{
	vec_fini(&s->all);
	index_fini(&s->by_hash);
}

void labeler_free(struct labeler *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n_env; i++)
		free(l->env[i]);
	free(l->selected_text);
	free(l->host);
	rules_free(l->rules);
	containers_free(l->containers);
	series_fini(&l->current);
	series_fini(&l->previous);
	free(l);
}

/* ---- labels ---------------------------------------------------------------------------- */

bool labeler_uses(const struct labeler *l, const char *label)
{
	for (size_t i = 0; i < l->n_selected; i++)
		if (!strcmp(l->selected[i], label))
			return true;
	return false;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * "nginx.service" becomes "nginx". The name of a user's service manager is not used, because it
 * runs all kinds of programs.
 */
static bool service_of_unit(const char *unit, char *out, size_t cap)
{
	size_t len = strlen(unit);
	const char *end = ".service";

	if (len <= strlen(end) || strcmp(unit + len - strlen(end), end) != 0 ||
	    !strncmp(unit, "user@", 5) || !strncmp(unit, "init.scope", 10))
		return false;
	snprintf(out, cap, "%.*s", (int)(len - strlen(end)), unit);
	return true;
}

/* Chooses the service name that applies when no rule sets one. */
static void service_name(const struct labeler *l, const struct process_info *p,
			 const struct cgroup_owner *owner, const struct container_names *names,
			 char *out, size_t cap)
{
	for (size_t i = 0; i < l->n_service && i < l->n_env; i++) {
		if (!p->env[i])
			continue;
		snprintf(out, cap, "%s", p->env[i]);
		return;
	}
	if (names->name[0] && names->namespace[0])
		snprintf(out, cap, "%s/%s", names->namespace, names->name);
	else if (names->name[0])
		snprintf(out, cap, "%s", names->name);
	else if (names->pod[0])
		snprintf(out, cap, "%s/%s", names->namespace, names->pod);
	else if (owner->container_id[0])
		snprintf(out, cap, "%.12s", owner->container_id);
	else if (service_of_unit(owner->unit, out, cap))
		return;
	else if (!p->exe[0])
		snprintf(out, cap, "kernel");
	else
		snprintf(out, cap, "%s", base_name(p->exe));
}

/* Variables that are not for the service name become labels env_NAME. */
static int put_env(const struct labeler *l, const struct process_info *p,
		   struct metadata_labels *out)
{
	int r = 0;

	for (size_t i = l->n_service; i < l->n_env && r == 0; i++) {
		char name[LABEL_NAME_MAX];

		if (!p->env[i])
			continue;
		snprintf(name, sizeof(name), "env_%s", l->env[i]);
		r = metadata_label_name_is_valid(name) ? metadata_labels_put(out, name, p->env[i])
						       : 0;
	}
	return r;
}

/* Sets all known labels, selected or not: rules may match any of them. */
static int put_all(struct labeler *l, const struct process_info *p, uint64_t now_ns,
		   struct metadata_labels *out)
{
	struct cgroup_owner owner;
	const struct container_names *names;
	char pid[16], service[LABEL_VALUE_MAX + 1] = "";
	int r = 0;

	cgroup_parse_text(p->cgroup, strlen(p->cgroup), &owner);
	names = containers_find(l->containers, &owner, now_ns);
	snprintf(pid, sizeof(pid), "%u", p->pid);
	service_name(l, p, &owner, names, service, sizeof(service));
	const struct {
		const char *name, *value;
	} all[] = {
		{ "service_name", service },
		{ "pid", pid },
		{ "comm", p->comm },
		{ "exe", p->exe },
		{ "container_id", owner.container_id },
		{ "container", names->name },
		{ "runtime", owner.runtime[0] ? owner.runtime : names->runtime },
		{ "namespace", names->namespace },
		{ "pod", names->pod },
		{ "pod_uid", owner.pod_uid },
		{ "unit", owner.unit },
		{ "slice", owner.slice },
		{ "host", l->host },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && r == 0; i++)
		r = metadata_labels_put(out, all[i].name, all[i].value);
	return r < 0 ? r : put_env(l, p, out);
}

static bool is_builtin(const char *name)
{
	static const char *const builtin[] = { "pid",       "comm",    "exe",       "container_id",
					       "container", "runtime", "namespace", "pod",
					       "pod_uid",   "unit",    "slice",     "host" };

	for (size_t i = 0; i < sizeof(builtin) / sizeof(builtin[0]); i++)
		if (!strcmp(builtin[i], name))
			return true;
	return false;
}

/*
 * Rules see all labels, also those that are not selected. A label that a rule set or changed is
 * retained, because the operator requested it.
 */
static int compute_labels(struct labeler *l, struct process_info *p, uint64_t now_ns)
{
	struct metadata_labels *s = &p->labels;
	struct metadata_labels found = { 0 };
	int r;

	metadata_labels_fini(s);
	p->dropped = false;
	r = put_all(l, p, now_ns, s);
	if (r == 0)
		r = metadata_labels_copy(&found, s);
	if (r == 0)
		r = rules_apply(l->rules, s);
	p->dropped = r == RULES_DROP;
	/* remove built-in labels that are not selected, unless a rule changed their value */
	for (size_t i = s->n; i-- > 0;)
		if (is_builtin(s->of[i].name) && !labeler_uses(l, s->of[i].name) &&
		    !strcmp(metadata_labels_get(&found, s->of[i].name), s->of[i].value))
			metadata_labels_remove(s, s->of[i].name);
	metadata_labels_fini(&found);
	if (r >= 0 && !*metadata_labels_get(s, "service_name"))
		r = metadata_labels_put(s, "service_name", "unknown");
	metadata_labels_sort(s);
	return r < 0 ? r : 0;
}

const struct metadata_labels *labeler_get(struct labeler *l, struct process_info *p,
					  uint64_t now_ns)
{
	if (now_ns >= p->labels_until_ns || !p->labels_until_ns) {
		if (compute_labels(l, p, now_ns) < 0)
			return NULL;
		p->labels_until_ns = now_ns + (uint64_t)KEEP_S * CLOCK_SECOND_NS;
	}
	return p->dropped ? NULL : &p->labels;
}

/* ---- limiting series ------------------------------------------------------------------- */

struct hash_key {
	const struct series *s;
	uint64_t hash;
};

static bool same_hash(const void *ctx, uint32_t id)
{
	const struct hash_key *k = ctx;

	return k->s->all.data[id].hash == k->hash;
}

static bool series_has(const struct series *s, uint64_t hash)
{
	struct hash_key key = { s, hash };
	uint32_t id;

	return index_find(&s->by_hash, (uint32_t)hash, same_hash, &key, &id);
}

size_t labeler_n_series(const struct labeler *l)
{
	return l->current.all.len + l->previous.all.len;
}

static size_t count_of(const struct series *s, uint64_t user)
{
	size_t n = 0;

	for (size_t i = 0; i < s->all.len; i++)
		n += s->all.data[i].user == user;
	return n;
}

static bool has_room(const struct labeler *l, uint64_t user, size_t max)
{
	size_t n = labeler_n_series(l);

	if (n >= max || !user)
		return n < max;
	return count_of(&l->current, user) + count_of(&l->previous, user) < SHARE * (max - n);
}

/* Returns true if the series is known or there is room for it below the limit @max; counts it. */
static bool admit(struct labeler *l, struct metadata_labels *labels, uint64_t user, size_t max)
{
	uint64_t hash;

	metadata_labels_sort(labels);
	hash = metadata_labels_hash(labels);
	if (series_has(&l->current, hash))
		return true;
	if (!series_has(&l->previous, hash) && !has_room(l, user, max))
		return false;
	if (vec_push(&l->current.all, ((struct counted){ hash, user })) == 0)
		(void)index_add(&l->current.by_hash, (uint32_t)hash,
				(uint32_t)l->current.all.len - 1);
	return true;
}

/* Called with each set, so no timer is needed. */
static void rotate_periods(struct labeler *l, uint64_t now_ns)
{
	if (now_ns < l->next_period_ns)
		return;
	l->next_period_ns = now_ns + (uint64_t)PERIOD_S * CLOCK_SECOND_NS;
	series_fini(&l->previous);
	l->previous = l->current;
	l->current = (struct series){ 0 };
}

static void keep_service_only(struct metadata_labels *labels)
{
	for (size_t i = labels->n; i-- > 0;)
		if (strcmp(labels->of[i].name, "service_name") != 0)
			metadata_labels_remove(labels, labels->of[i].name);
}

bool labeler_limit_series(struct labeler *l, struct metadata_labels *labels, uint64_t user,
			  uint64_t now_ns)
{
	rotate_periods(l, now_ns);
	if (admit(l, labels, user, l->max_series))
		return false;
	metadata_labels_remove(labels, "pid");
	metadata_labels_remove(labels, "cpu");
	if (admit(l, labels, user, 2 * l->max_series))
		return true;
	keep_service_only(labels);
	if (admit(l, labels, user, 3 * l->max_series))
		return true;
	(void)metadata_labels_put(labels, "service_name", "other");
	metadata_labels_sort(labels);
	return true;
}
