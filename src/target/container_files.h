/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What container runtimes and the kubelet keep on the disk about a container or a pod. */
#include "target/cgroup.h"
#include "target/containers.h"

/* Look below the directory @root_fd; fills in what is still "" of @out. */
void container_files_find(int root_fd, const struct cgroup_owner *owner,
			  struct container_names *out);
