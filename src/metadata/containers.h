/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Names of containers and pods by cgroup owner, from files of the runtimes and the kubelet or, if
 * configured, from the kubelet's API. Complete results are cached; incomplete ones are looked up
 * again after 10 s. One thread, the symbolizer thread: a kubelet request may take seconds. It holds
 * at most max entries; a full cache is cleared, which costs one round of look-ups.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "metadata/container_names.h"

struct cgroup_owner;
struct containers;
struct err;
struct fetcher;

struct containers_opts {
	const char *root;                                 /* root directory of the host */
	const char *kubelet_url;                          /* NULL: do not query the API */
	const char *kubelet_token_file, *kubelet_ca_file; /* paths, or NULL */
	struct fetcher *fetcher; /* for the requests to the kubelet; borrowed */
	size_t max;              /* maximal number of cached containers; 0: 4096 */
};

/*
 * All texts are copied. Returns 0; -EINVAL with @err for invalid kubelet options; -ENOMEM. A root
 * that cannot be opened is not an error: all names then stay unknown.
 */
int containers_new(struct containers **out, const struct containers_opts *opts, struct err *err);
void containers_free(struct containers *c);

DEFINE_FREEP(struct containers, containers_free)

/*
 * Returns the names that belong to @owner, "" where unknown. Borrowed until the next call;
 * never NULL.
 */
const struct container_names *containers_find(struct containers *c,
					      const struct cgroup_owner *owner, uint64_t now_ns);
