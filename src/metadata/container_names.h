/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The names that a container runtime and Kubernetes give to a container. Plain memory that is
 * copied; fields are NUL-terminated.
 */
struct container_names {
	char name[256]; /* of the container; "" if unknown */
	char pod[256], namespace[256];
	char runtime[16]; /* whose files named it; "" if unknown */
};
