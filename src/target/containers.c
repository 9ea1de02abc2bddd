/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table by container id (or, where the cgroup has none, by pod). The kubelet tells of
 * all its pods at once, so its answer goes into a table of its own that is
 * asked for anew at most every few seconds, when somebody is not in it.
 */
#include "target/containers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/vec.h"
#include "target/cgroup.h"
#include "target/container_files.h"
#include "target/kubelet.h"

enum {
	MAX_DEFAULT = 4096,
	KEY_LEN = 72,
	RETRY_S = 10,   /* look again for what was not found, or not wholly */
	KUBELET_S = 10, /* between two questions */
};

struct entry {
	char key[KEY_LEN];
	uint64_t next_try_ns; /* UINT64_MAX: all is known */
	struct container_names names;
};

struct table {
	struct {
		VEC(struct entry);
	} all;
	struct index by_key;
};

struct containers {
	int root_fd;
	size_t max;
	struct table known, told; /* told: by the kubelet */
	struct kubelet *kubelet;  /* NULL: it is not asked */
	uint64_t next_ask_ns;
	struct container_names none;
};

struct find_key {
	const struct table *t;
	const char *key;
};

static bool same_key(const void *ctx, uint32_t id)
{
	const struct find_key *k = ctx;

	return !strcmp(k->t->all.data[id].key, k->key);
}

static struct entry *table_get(const struct table *t, const char *key)
{
	struct find_key k = { t, key };
	uint32_t id;

	return index_find(&t->by_key, hash_bytes(key, strlen(key)), same_key, &k, &id)
		       ? &t->all.data[id]
		       : NULL;
}

static struct entry *table_add(struct table *t, const char *key)
{
	struct entry e = { 0 };

	snprintf(e.key, sizeof(e.key), "%s", key);
	if (vec_push(&t->all, e) < 0)
		return NULL;
	if (index_add(&t->by_key, hash_bytes(key, strlen(key)), (uint32_t)t->all.len - 1) < 0) {
		t->all.len--;
		return NULL;
	}
	return &t->all.data[t->all.len - 1];
}

static void table_clear(struct table *t)
{
	vec_fini(&t->all);
	index_fini(&t->by_key);
}

int containers_new(struct containers **out, const struct containers_opts *opts, struct err *err)
{
	_cleanup_(containers_freep) struct containers *c = calloc(1, sizeof(*c));
	int r = 0;

	if (!c)
		return -ENOMEM;
	c->root_fd = open(opts->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	c->max = opts->max ? opts->max : MAX_DEFAULT;
	if (opts->kubelet_url)
		r = kubelet_new(&c->kubelet, opts->kubelet_url, opts->kubelet_token_file,
				opts->kubelet_ca_file, err);
	if (r < 0)
		return r;
	*out = steal_ptr(&c);
	return 0;
}

void containers_free(struct containers *c)
{
	if (!c)
		return;
	table_clear(&c->known);
	table_clear(&c->told);
	kubelet_free(c->kubelet);
	closep(&c->root_fd);
	free(c);
}

/* ---- the kubelet ------------------------------------------------------------------- */

static int on_told(void *ctx, const struct kubelet_container *k)
{
	struct containers *c = ctx;
	const char *key = *k->id ? k->id : k->uid;
	struct entry *e;

	if (strlen(key) >= KEY_LEN || c->told.all.len >= c->max || table_get(&c->told, key))
		return 0;
	e = table_add(&c->told, key);
	if (!e)
		return -ENOMEM;
	snprintf(e->names.name, sizeof(e->names.name), "%s", k->name);
	snprintf(e->names.pod, sizeof(e->names.pod), "%s", k->pod);
	snprintf(e->names.namespace, sizeof(e->names.namespace), "%s", k->namespace);
	return 0;
}

static void ask_kubelet(struct containers *c, const struct cgroup_owner *owner, uint64_t now_ns,
			struct container_names *out)
{
	const char *key = owner->container_id[0] ? owner->container_id : owner->pod_uid;
	const struct entry *e = table_get(&c->told, key);

	if (!c->kubelet || !owner->pod_uid[0])
		return;
	if (!e && now_ns >= c->next_ask_ns) {
		c->next_ask_ns = now_ns + (uint64_t)KUBELET_S * CLOCK_SECOND_NS;
		table_clear(&c->told);
		(void)kubelet_pods(c->kubelet, on_told, c, NULL);
		e = table_get(&c->told, key);
	}
	if (!e) /* a container so new that only its pod is known */
		e = table_get(&c->told, owner->pod_uid);
	if (!e)
		return;
	if (!out->name[0])
		memcpy(out->name, e->names.name, sizeof(out->name));
	if (!out->pod[0])
		memcpy(out->pod, e->names.pod, sizeof(out->pod));
	if (!out->namespace[0])
		memcpy(out->namespace, e->names.namespace, sizeof(out->namespace));
}

static bool is_whole(const struct cgroup_owner *owner, const struct container_names *n)
{
	return (n->name[0] || !owner->container_id[0]) && (n->pod[0] || !owner->pod_uid[0]);
}

const struct container_names *containers_find(struct containers *c,
					      const struct cgroup_owner *owner, uint64_t now_ns)
{
	const char *key = owner->container_id[0] ? owner->container_id : owner->pod_uid;
	struct entry *e;

	if (!*key)
		return &c->none;
	e = table_get(&c->known, key);
	if (!e && c->known.all.len >= c->max)
		table_clear(&c->known);
	if (!e)
		e = table_add(&c->known, key);
	if (!e)
		return &c->none;
	if (now_ns < e->next_try_ns)
		return &e->names;
	memset(&e->names, 0, sizeof(e->names));
	container_files_find(c->root_fd, owner, &e->names);
	if (!is_whole(owner, &e->names))
		ask_kubelet(c, owner, now_ns, &e->names);
	e->next_try_ns = is_whole(owner, &e->names) ? UINT64_MAX
						    : now_ns + (uint64_t)RETRY_S * CLOCK_SECOND_NS;
	return &e->names;
}
