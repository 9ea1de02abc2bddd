/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The kubelet's API: which containers its pods have. One thread. */
#include <stddef.h>

#include "base/cleanup.h"

struct err;
struct kubelet;

struct kubelet_container {
	const char *id;   /* without its runtime's "containerd://" */
	const char *name; /* "" for the pod itself, once after its containers */
	const char *pod, *namespace, *uid;
};

/* Non-zero stops. */
typedef int (*kubelet_fn)(void *ctx, const struct kubelet_container *c);

/* @token_file and @ca_file may be NULL; without the latter, any certificate is taken. */
int kubelet_new(struct kubelet **out, const char *url, const char *token_file, const char *ca_file,
		struct err *err);
void kubelet_free(struct kubelet *k);

DEFINE_FREEP(struct kubelet, kubelet_free)

/* Ask for its pods: 0; -errno when it does not answer well. */
int kubelet_pods(struct kubelet *k, kubelet_fn fn, void *ctx, struct err *err);

/* Of its answer's text (v1.PodList). 0, @fn's result, -EBADMSG. */
int kubelet_parse(const void *json, size_t len, kubelet_fn fn, void *ctx);
