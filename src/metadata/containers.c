/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache by container id or, if the cgroup has none, by pod uid. The kubelet returns all of
 * its pods in one response, which goes into a separate table. That table is refreshed when a
 * container is missing in it, but not more often than every KUBELET_S seconds.
 */
#include "metadata/containers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/vec.h"
#include "metadata/cgroup.h"
#include "metadata/container_files.h"
#include "metadata/kubelet.h"

enum {
	MAX_DEFAULT = 4096,
	KEY_LEN = 72,
	RETRY_S = 10,   /* delay before a missing or incomplete entry is looked up again */
	KUBELET_S = 10, /* shortest interval between two requests */
};

struct entry {
	char key[KEY_LEN];
	uint64_t next_lookup_ns; /* UINT64_MAX: complete */
	struct container_names names;
};

struct table {
	struct {
		VEC(struct entry);
	} entries;
	struct index by_key;
};

struct containers {
	int root_fd;
	size_t max;
	struct table cache, from_kubelet; /* from_kubelet: content of its last response */
	struct kubelet *kubelet;          /* NULL: not configured */
	uint64_t next_request_ns;
	struct container_names none;
};

struct find_key {
	const struct table *t;
	const char *key;
};

static bool same_key(const void *ctx, uint32_t id)
{
	const struct find_key *k = ctx;

	return !strcmp(k->t->entries.data[id].key, k->key);
}

static struct entry *table_get(const struct table *t, const char *key)
{
	struct find_key k = { t, key };
	uint32_t id;

	return index_find(&t->by_key, hash_bytes(key, strlen(key)), same_key, &k, &id)
		       ? &t->entries.data[id]
		       : NULL;
}

static struct entry *table_add(struct table *t, const char *key)
{
	struct entry e = { 0 };

	snprintf(e.key, sizeof(e.key), "%s", key);
	if (vec_push(&t->entries, e) < 0)
		return NULL;
	if (index_add(&t->by_key, hash_bytes(key, strlen(key)), (uint32_t)t->entries.len - 1) < 0) {
		t->entries.len--;
		return NULL;
	}
	return &t->entries.data[t->entries.len - 1];
}

static void table_clear(struct table *t)
{
	vec_fini(&t->entries);
	index_fini(&t->by_key);
}

int containers_new(struct containers **out, const struct containers_opts *opts, struct err *err)
{
	const struct kubelet_opts kubelet = {
		.fetcher = opts->fetcher,
		.url = opts->kubelet_url,
		.token_file = opts->kubelet_token_file,
		.ca_file = opts->kubelet_ca_file,
	};
	_cleanup_(containers_freep) struct containers *c = calloc(1, sizeof(*c));
	int r = 0;

	if (!c)
		return -ENOMEM;
	c->root_fd = open(opts->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	c->max = opts->max ? opts->max : MAX_DEFAULT;
	if (kubelet.url)
		r = kubelet_new(&c->kubelet, &kubelet, err);
	if (r < 0)
		return r;
	*out = steal_ptr(&c);
	return 0;
}

void containers_free(struct containers *c)
{
	if (!c)
		return;
	table_clear(&c->cache);
	table_clear(&c->from_kubelet);
	kubelet_free(c->kubelet);
	closep(&c->root_fd);
	free(c);
}

/* ---- the kubelet ----------------------------------------------------------------------- */

/* Containers beyond the limit are ignored, so that a wrong response cannot fill the memory. */
static int on_container(void *ctx, const struct kubelet_container *k)
{
	struct containers *c = ctx;
	const char *key = *k->id ? k->id : k->uid;
	struct entry *e;

	if (strlen(key) >= KEY_LEN || c->from_kubelet.entries.len >= c->max ||
	    table_get(&c->from_kubelet, key))
		return 0;
	e = table_add(&c->from_kubelet, key);
	if (!e)
		return -ENOMEM;
	snprintf(e->names.name, sizeof(e->names.name), "%s", k->name);
	snprintf(e->names.pod, sizeof(e->names.pod), "%s", k->pod);
	snprintf(e->names.namespace, sizeof(e->names.namespace), "%s", k->namespace);
	return 0;
}

/* Fields that files have provided are not replaced. */
static void add_from_kubelet(struct containers *c, const struct cgroup_owner *owner,
			     uint64_t now_ns, struct container_names *out)
{
	const char *key = owner->container_id[0] ? owner->container_id : owner->pod_uid;
	const struct entry *e = table_get(&c->from_kubelet, key);

	if (!c->kubelet || !owner->pod_uid[0])
		return;
	if (!e && now_ns >= c->next_request_ns) {
		c->next_request_ns = now_ns + (uint64_t)KUBELET_S * CLOCK_SECOND_NS;
		table_clear(&c->from_kubelet);
		(void)kubelet_pods(c->kubelet, on_container, c, NULL);
		e = table_get(&c->from_kubelet, key);
	}
	if (!e) /* the container is newer than the response, but its pod may be known */
		e = table_get(&c->from_kubelet, owner->pod_uid);
	if (!e)
		return;
	if (!out->name[0])
		memcpy(out->name, e->names.name, sizeof(out->name));
	if (!out->pod[0])
		memcpy(out->pod, e->names.pod, sizeof(out->pod));
	if (!out->namespace[0])
		memcpy(out->namespace, e->names.namespace, sizeof(out->namespace));
}

static bool is_complete(const struct cgroup_owner *owner, const struct container_names *n)
{
	return (n->name[0] || !owner->container_id[0]) && (n->pod[0] || !owner->pod_uid[0]);
}

/*
 * An incomplete entry is filled again from nothing at each look-up, so that names of two
 * states of a container do not mix.
 */
const struct container_names *containers_find(struct containers *c,
					      const struct cgroup_owner *owner, uint64_t now_ns)
{
	const char *key = owner->container_id[0] ? owner->container_id : owner->pod_uid;
	struct entry *e;

	if (!*key)
		return &c->none;
	e = table_get(&c->cache, key);
	if (!e && c->cache.entries.len >= c->max)
		table_clear(&c->cache);
	if (!e)
		e = table_add(&c->cache, key);
	if (!e)
		return &c->none;
	if (now_ns < e->next_lookup_ns)
		return &e->names;
	memset(&e->names, 0, sizeof(e->names));
	container_files_find(c->root_fd, owner, &e->names);
	if (!is_complete(owner, &e->names))
		add_from_kubelet(c, owner, now_ns, &e->names);
	e->next_lookup_ns = is_complete(owner, &e->names)
				    ? UINT64_MAX
				    : now_ns + (uint64_t)RETRY_S * CLOCK_SECOND_NS;
	return &e->names;
}
