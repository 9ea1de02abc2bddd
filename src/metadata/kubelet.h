/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A client of the kubelet's API that lists the containers of its pods. Another process
 * (fetch/fetcher.h) sends the requests. It caches nothing: containers.h does. Requests block for up
 * to 3 s. One thread. The response is untrusted and limited to 32 MiB; a request that fails leaves
 * the names unknown until the next one.
 */
#include <stddef.h>

#include "base/cleanup.h"

struct err;
struct fetcher;
struct kubelet;

struct kubelet_opts {
	struct fetcher *fetcher; /* borrowed */
	const char *url;         /* the base URL, http or https */
	const char *token_file;  /* or NULL */
	const char *ca_file;     /* NULL: any certificate is accepted */
};

struct kubelet_container {
	const char *id;   /* without a prefix such as "containerd://" */
	const char *name; /* "" for the pod itself, which comes after its containers */
	const char *pod, *namespace, *uid;
};

/*
 * Called for each container. A non-zero result stops the parser and is returned by it. All texts
 * are valid during the call.
 */
typedef int (*kubelet_fn)(void *ctx, const struct kubelet_container *c);

/* Annotations with this prefix are read; Grafana's agents use them to choose programs to scrape. */
#define KUBELET_ANNOTATIONS "profiles.grafana.com/"

struct kubelet_annotation {
	const char *key, *value; /* the key without its prefix */
};

struct kubelet_port {
	const char *container, *name; /* name: "" if it has none */
	unsigned int number;          /* 1 to 65535 */
};

struct kubelet_pod {
	const char *name, *namespace, *ip; /* ip: "" while it has none */
	const char *container;             /* the first one; "" if there is none */
	const struct kubelet_annotation *annotations;
	size_t n_annotations;
	const struct kubelet_port *ports;
	size_t n_ports;
};

/* Called for each pod, like kubelet_fn. */
typedef int (*kubelet_pod_fn)(void *ctx, const struct kubelet_pod *p);

/* Texts are copied. Returns 0, -EINVAL with @err, or -ENOMEM. */
int kubelet_new(struct kubelet **out, const struct kubelet_opts *opts, struct err *err);
void kubelet_free(struct kubelet *k);

DEFINE_FREEP(struct kubelet, kubelet_free)

/*
 * Requests the list of pods. Returns 0, @fn's result, or -errno with @err if the request
 * fails.
 */
int kubelet_pods(struct kubelet *k, kubelet_fn fn, void *ctx, struct err *err);

/* Requests the list of pods as well. Returns the same. */
int kubelet_each_pod(struct kubelet *k, kubelet_pod_fn fn, void *ctx, struct err *err);

/* Parse a response (a v1.PodList). Return 0, @fn's result, or -EBADMSG. */
int kubelet_parse(const void *json, size_t len, kubelet_fn fn, void *ctx);
int kubelet_parse_pods(const void *json, size_t len, kubelet_pod_fn fn, void *ctx);
