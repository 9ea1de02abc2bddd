/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /pods returns {"items":[{"metadata":{"name","namespace","uid","annotations":{}},
 * "spec":{"containers":[{"name","ports":[{"name","containerPort"}]}]},
 * "status":{"podIP","containerStatuses":[{"name","containerID"}]}}]}, with init and ephemeral
 * containers in similar lists. The status of a pod may come before its metadata, so a pod is
 * parsed completely before it is reported.
 */
#include "metadata/kubelet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/vec.h"
#include "fetch/fetcher.h"
#include "fetch/pem.h"

enum { ANSWER_MAX = 32 << 20, TOKEN_MAX = 8192, TIMEOUT_MS = 3000, PORT_MAX = 65535 };

struct kubelet {
	struct fetcher *fetcher;
	char *url, *token_file;
	struct pem ca;
};

struct status {
	char *id, *name;
};

struct pair {
	char *key, *value;
};

struct port {
	size_t container; /* in @names */
	char *name;
	unsigned int number;
};

struct pod {
	char *name, *namespace, *uid, *ip;
	struct {
		VEC(struct status);
	} containers;
	struct {
		VEC(struct pair);
	} annotations;
	struct {
		VEC(char *);
	} names; /* of the containers in its specification */
	struct {
		VEC(struct port);
	} ports;
};

int kubelet_new(struct kubelet **out, const struct kubelet_opts *opts, struct err *err)
{
	_cleanup_(kubelet_freep) struct kubelet *k = calloc(1, sizeof(*k));
	size_t len = strlen(opts->url);

	if (!k)
		return -ENOMEM;
	k->ca = PEM_NONE;
	k->fetcher = opts->fetcher;
	if (strncmp(opts->url, "http://", 7) != 0 && strncmp(opts->url, "https://", 8) != 0)
		return err_set(err, -EINVAL,
			       "kubelet: invalid URL \"%.80s\": expected http:// or https://",
			       opts->url);
	while (len && opts->url[len - 1] == '/')
		len--;
	if (asprintf(&k->url, "%.*s/pods", (int)len, opts->url) < 0)
		k->url = NULL;
	k->token_file = opts->token_file ? strdup(opts->token_file) : NULL;
	if (!k->url || (opts->token_file && !k->token_file))
		return -ENOMEM;
	if (pem_open(&k->ca, opts->ca_file, err) < 0)
		return -EINVAL;
	*out = steal_ptr(&k);
	return 0;
}

void kubelet_free(struct kubelet *k)
{
	if (!k)
		return;
	pem_close(&k->ca);
	free(k->url);
	free(k->token_file);
	free(k);
}

/* ---- parsing the response -------------------------------------------------------------- */

static void pod_fini(struct pod *p)
{
	free(p->name);
	free(p->namespace);
	free(p->uid);
	free(p->ip);
	for (size_t i = 0; i < p->containers.len; i++) {
		free(p->containers.data[i].id);
		free(p->containers.data[i].name);
	}
	vec_fini(&p->containers);
	for (size_t i = 0; i < p->annotations.len; i++) {
		free(p->annotations.data[i].key);
		free(p->annotations.data[i].value);
	}
	vec_fini(&p->annotations);
	for (size_t i = 0; i < p->names.len; i++)
		free(p->names.data[i]);
	vec_fini(&p->names);
	for (size_t i = 0; i < p->ports.len; i++)
		free(p->ports.data[i].name);
	vec_fini(&p->ports);
}

/* Members of another kind than text are skipped, as are those of unknown names. */
static int read_string(struct json_read *j, char **out)
{
	int r;

	if (json_read_peek(j) != '"')
		return json_read_skip(j);
	r = json_read_string(j);
	if (r < 0)
		return r;
	free(*out);
	*out = strdup((const char *)j->text.data);
	return *out ? 0 : -ENOMEM;
}

/* Stores the string members @keys[i] of an object in *@outs[i]. */
struct members {
	const char *const *keys;
	char ***outs;
	size_t n;
};

static int read_member(struct json_read *j, void *ctx)
{
	const struct members *w = ctx;

	for (size_t i = 0; i < w->n; i++)
		if (json_read_is(j, w->keys[i]))
			return read_string(j, w->outs[i]);
	return json_read_skip(j);
}

static int read_annotation(struct json_read *j, void *ctx)
{
	const char *key = (const char *)j->text.data;
	size_t prefix = strlen(KUBELET_ANNOTATIONS);
	struct pair a = { 0 };
	struct pod *p = ctx;
	int r;

	if (strncmp(key, KUBELET_ANNOTATIONS, prefix) != 0)
		return json_read_skip(j);
	a.key = strdup(key + prefix);
	r = a.key ? read_string(j, &a.value) : -ENOMEM;
	if (r == 0 && a.value)
		r = vec_push(&p->annotations, a);
	if (r < 0 || !a.value) {
		free(a.key);
		free(a.value);
	}
	return r;
}

static int read_metadata_member(struct json_read *j, void *ctx)
{
	static const char *const keys[] = { "name", "namespace", "uid" };
	struct pod *p = ctx;
	char **outs[] = { &p->name, &p->namespace, &p->uid };
	struct members w = { keys, outs, 3 };

	return json_read_is(j, "annotations") ? json_read_each(j, '{', read_annotation, p)
					      : read_member(j, &w);
}

/* ---- specifications -------------------------------------------------------------------- */

static int read_port_member(struct json_read *j, void *ctx)
{
	struct port *t = ctx;
	double number;
	int r;

	if (json_read_is(j, "name"))
		return read_string(j, &t->name);
	if (!json_read_is(j, "containerPort") || json_read_peek(j) != 0)
		return json_read_skip(j);
	r = json_read_number(j, &number);
	if (r == 0 && number >= 1 && number <= PORT_MAX)
		t->number = (unsigned int)number;
	return r;
}

/* The port belongs to the container that is being read, which is the last one of the names. */
static int read_port(struct json_read *j, void *ctx)
{
	struct pod *p = ctx;
	struct port t = { .container = p->names.len - 1 };
	int r = json_read_each(j, '{', read_port_member, &t);

	if (r == 0 && t.number)
		r = vec_push(&p->ports, t);
	if (r < 0 || !t.number)
		free(t.name);
	return r;
}

static int read_spec_container_member(struct json_read *j, void *ctx)
{
	struct pod *p = ctx;

	if (json_read_is(j, "name"))
		return read_string(j, &p->names.data[p->names.len - 1]);
	return json_read_is(j, "ports") ? json_read_each(j, '[', read_port, p) : json_read_skip(j);
}

static int read_spec_container(struct json_read *j, void *ctx)
{
	struct pod *p = ctx;
	int r = vec_push(&p->names, NULL);

	return r < 0 ? r : json_read_each(j, '{', read_spec_container_member, p);
}

static int read_spec(struct json_read *j, void *ctx)
{
	return json_read_is(j, "containers") ? json_read_each(j, '[', read_spec_container, ctx)
					     : json_read_skip(j);
}

/* ---- status ---------------------------------------------------------------------------- */

static int read_container(struct json_read *j, void *ctx)
{
	static const char *const keys[] = { "containerID", "name" };
	struct status s = { 0 };
	char **outs[] = { &s.id, &s.name };
	struct members w = { keys, outs, 2 };
	struct pod *p = ctx;
	int r = json_read_each(j, '{', read_member, &w);

	if (r == 0)
		r = vec_push(&p->containers, s);
	if (r < 0) {
		free(s.id);
		free(s.name);
	}
	return r;
}

static int read_status(struct json_read *j, void *ctx)
{
	if (json_read_is(j, "containerStatuses") || json_read_is(j, "initContainerStatuses") ||
	    json_read_is(j, "ephemeralContainerStatuses"))
		return json_read_each(j, '[', read_container, ctx);
	if (json_read_is(j, "podIP"))
		return read_string(j, &((struct pod *)ctx)->ip);
	return json_read_skip(j);
}

static int read_pod(struct json_read *j, void *ctx)
{
	if (json_read_is(j, "metadata"))
		return json_read_each(j, '{', read_metadata_member, ctx);
	if (json_read_is(j, "spec"))
		return json_read_each(j, '{', read_spec, ctx);
	if (json_read_is(j, "status"))
		return json_read_each(j, '{', read_status, ctx);
	return json_read_skip(j);
}

/*
 * A pod without name, namespace or uid is ignored. The pod itself is reported last, with empty id
 * and name.
 */
static int report_pod(const struct pod *p, kubelet_fn fn, void *ctx)
{
	struct kubelet_container c = { "", "", p->name, p->namespace, p->uid };
	int r = 0;

	if (!p->name || !p->namespace || !p->uid)
		return 0;
	for (size_t i = 0; i < p->containers.len && r == 0; i++) {
		const struct status *s = &p->containers.data[i];
		const char *slashes = s->id ? strstr(s->id, "://") : NULL;

		c.id = slashes ? slashes + 3 : "";
		c.name = s->name ? s->name : "";
		if (*c.id && *c.name)
			r = fn(ctx, &c);
	}
	c.id = c.name = "";
	return r == 0 ? fn(ctx, &c) : r;
}

static const char *text(const char *s)
{
	return s ? s : "";
}

static int report_whole(const struct pod *p, kubelet_pod_fn fn, void *ctx)
{
	_cleanup_(freep) struct kubelet_annotation *annotations =
		calloc(p->annotations.len + 1, sizeof(*annotations));
	_cleanup_(freep) struct kubelet_port *ports = calloc(p->ports.len + 1, sizeof(*ports));
	const struct kubelet_pod pod = {
		.name = p->name,
		.namespace = p->namespace,
		.ip = text(p->ip),
		.container = p->names.len ? text(p->names.data[0]) : "",
		.annotations = annotations,
		.n_annotations = p->annotations.len,
		.ports = ports,
		.n_ports = p->ports.len,
	};

	if (!annotations || !ports)
		return -ENOMEM;
	if (!p->name || !p->namespace)
		return 0;
	for (size_t i = 0; i < p->annotations.len; i++)
		annotations[i] = (struct kubelet_annotation){ p->annotations.data[i].key,
							      p->annotations.data[i].value };
	for (size_t i = 0; i < p->ports.len; i++) {
		const struct port *t = &p->ports.data[i];

		ports[i] = (struct kubelet_port){ text(p->names.data[t->container]), text(t->name),
						  t->number };
	}
	return fn(ctx, &pod);
}

struct callback {
	kubelet_fn fn; /* NULL: @pod_fn */
	kubelet_pod_fn pod_fn;
	void *ctx;
};

static int read_item(struct json_read *j, void *ctx)
{
	const struct callback *t = ctx;
	struct pod p = { 0 };
	int r = json_read_each(j, '{', read_pod, &p);

	if (r == 0)
		r = t->fn ? report_pod(&p, t->fn, t->ctx) : report_whole(&p, t->pod_fn, t->ctx);
	pod_fini(&p);
	return r;
}

static int read_list(struct json_read *j, void *ctx)
{
	return json_read_is(j, "items") ? json_read_each(j, '[', read_item, ctx)
					: json_read_skip(j);
}

/* Pods that were reported before a malformed one stay reported. */
static int parse(const void *json, size_t len, struct callback *t)
{
	struct json_read j;
	int r;

	json_read_init(&j, json, len);
	r = json_read_peek(&j) == '{' ? json_read_each(&j, '{', read_list, t) : -EBADMSG;
	json_read_fini(&j);
	return r;
}

int kubelet_parse(const void *json, size_t len, kubelet_fn fn, void *ctx)
{
	struct callback t = { .fn = fn, .ctx = ctx };

	return parse(json, len, &t);
}

int kubelet_parse_pods(const void *json, size_t len, kubelet_pod_fn fn, void *ctx)
{
	struct callback t = { .pod_fn = fn, .ctx = ctx };

	return parse(json, len, &t);
}

/* ---- the request ----------------------------------------------------------------------- */

/* The token is read for every request, because Kubernetes renews it. */
static int read_token(const struct kubelet *k, char *out, size_t cap, struct err *err)
{
	_cleanup_(closep) int fd = open(k->token_file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, out, cap - 1);

	if (n < 0)
		return err_set(err, -errno, "cannot read \"%.120s\": %s", k->token_file,
			       strerror(errno));
	out[n] = 0;
	out[strcspn(out, "\r\n")] = 0;
	return 0;
}

static int on_body(void *ctx, const void *data, size_t len)
{
	struct buf *b = ctx;

	buf_put(b, data, len);
	return buf_error(b);
}

/* Receives the response into @out. Returns 0 or -errno. */
static int request(struct kubelet *k, struct buf *out, struct err *err)
{
	char token[TOKEN_MAX], header[TOKEN_MAX + 32];
	const char *headers[] = { header };
	struct fetch q = {
		.url = k->url,
		.headers = headers,
		.insecure = !k->ca.path,
		.timeout_ms = TIMEOUT_MS,
		.max_bytes = ANSWER_MAX,
		.body = on_body,
		.ctx = out,
	};
	int r = pem_refresh(&k->ca, err);

	q.ca_fd = k->ca.fd;
	if (r == 0 && k->token_file) {
		r = read_token(k, token, sizeof(token), err);
		snprintf(header, sizeof(header), "Authorization: Bearer %s", r < 0 ? "" : token);
		q.n_headers = 1;
	}
	if (r == 0)
		r = fetcher_get(k->fetcher, &q, err);
	if (r < 0)
		return r;
	return r == 200 ? 0 : err_set(err, -EBADMSG, "kubelet: unexpected HTTP status %d", r);
}

static int list(struct kubelet *k, struct callback *t, struct err *err)
{
	_cleanup_(buf_fini) struct buf body = { 0 };
	int r = request(k, &body, err);

	if (r == 0)
		r = parse(body.data, body.len, t);
	return r < 0 ? err_set(err, r, "kubelet: the response is not a list of pods") : r;
}

int kubelet_pods(struct kubelet *k, kubelet_fn fn, void *ctx, struct err *err)
{
	struct callback t = { .fn = fn, .ctx = ctx };

	return list(k, &t, err);
}

int kubelet_each_pod(struct kubelet *k, kubelet_pod_fn fn, void *ctx, struct err *err)
{
	struct callback t = { .pod_fn = fn, .ctx = ctx };

	return list(k, &t, err);
}
