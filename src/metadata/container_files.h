/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Looks up names of containers and pods in the files that container runtimes and the kubelet keep
 * on disk. Stateless; called by containers.h, which caches the results. Everything is read with the
 * agent's rights from directories that only root and the runtimes can write to; contents are still
 * limited in size and depth. A file of an unknown form yields no names, which is not an error.
 */
#include "metadata/cgroup.h"
#include "metadata/container_names.h"

/*
 * Looks below the directory @root_fd and fills in those fields of @out that are "". Fields
 * that are not found stay "".
 */
void container_files_find(int root_fd, const struct cgroup_owner *owner,
			  struct container_names *out);
