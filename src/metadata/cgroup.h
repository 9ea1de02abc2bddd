/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Derives the owner of a process from its cgroup path: a container of docker, containerd, podman or
 * CRI-O, a Kubernetes pod, a systemd unit. Works for cgroup v1 and v2, and for paths made by
 * systemd or by the runtimes themselves. Pure functions on text; names of containers are looked up
 * by containers.h. A process that can create cgroups can choose their names, so an owner is not a
 * proof of identity; no container or pod is derived from the names that users choose below the
 * units of their systemd instances. Texts that do not fit into the struct are omitted, never
 * truncated.
 */
#include <stddef.h>

struct cgroup_owner {
	char container_id[65]; /* 64 hex digits, or "" */
	char runtime[16]; /* "docker", "containerd", "crio", "podman"; "" if the path has no hint */
	char pod_uid[40]; /* with dashes, as Kubernetes writes it; or "" */
	char unit[128];   /* "nginx.service" or "session-3.scope"; or "" */
	char slice[128];  /* "system.slice"; or "" */
};

/*
 * Parses a single path, such as "/system.slice/docker-0123….scope". @path need not be terminated.
 */
void cgroup_parse_path(const char *path, size_t len, struct cgroup_owner *out);

/*
 * Parses the content of /proc/PID/cgroup and returns the most specific of its lines. With cgroup v1
 * there is a line per controller; they usually name the same container.
 */
void cgroup_parse_text(const char *text, size_t len, struct cgroup_owner *out);
