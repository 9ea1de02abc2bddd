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

/* Texts are copied. Returns 0, -EINVAL with @err, or -ENOMEM. */
int kubelet_new(struct kubelet **out, const struct kubelet_opts *opts, struct err *err);
void kubelet_free(struct kubelet *k);

DEFINE_FREEP(struct kubelet, kubelet_free)

/*
 * Requests the list of pods. Returns 0, @fn's result, or -errno with @err if the request
 * fails.
 */
int kubelet_pods(struct kubelet *k, kubelet_fn fn, void *ctx, struct err *err);

/* Parses a response (a v1.PodList). Returns 0, @fn's result, or -EBADMSG. */
int kubelet_parse(const void *json, size_t len, kubelet_fn fn, void *ctx);
