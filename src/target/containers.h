/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Names of containers and pods: from what runtimes and the kubelet keep on the
 * disk, or from the kubelet's API where one is named. What was found is kept;
 * what was not is looked for again after a while. One thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct cgroup_owner;
struct containers;
struct err;

struct containers_opts {
	const char *root;                                 /* the host's root directory */
	const char *kubelet_url;                          /* NULL: its API is not asked */
	const char *kubelet_token_file, *kubelet_ca_file; /* or NULL */
	size_t max; /* containers that are remembered; 0: 4096 */
};

struct container_names {
	char name[256]; /* of the container; "" where it is not known */
	char pod[256], namespace[256];
	char runtime[16]; /* whose files told */
};

/* 0; -EINVAL and @err when the kubelet's options are no good; -ENOMEM. Texts are copied. */
int containers_new(struct containers **out, const struct containers_opts *opts, struct err *err);
void containers_free(struct containers *c);

DEFINE_FREEP(struct containers, containers_free)

/* What the container or pod of @owner is called. Borrowed until the next call; never NULL. */
const struct container_names *containers_find(struct containers *c,
					      const struct cgroup_owner *owner, uint64_t now_ns);
