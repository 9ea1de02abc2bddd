/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a cgroup's path says about whose processes are in it: a container of
 * docker, containerd, podman or CRI-O, a pod, a systemd unit. Of cgroup v1 and v2,
 * made by systemd or by the runtimes themselves.
 */
#include <stddef.h>

struct cgroup_owner {
	char container_id[65]; /* 64 hex digits, or "" */
	char runtime[16]; /* "docker", "containerd", "crio", "podman"; "" if the path is silent */
	char pod_uid[40]; /* with dashes, as Kubernetes writes it; or "" */
	char unit[128];   /* "nginx.service", "session-3.scope"; or "" */
	char slice[128];  /* "system.slice"; or "" */
};

/* Of one path, as in "/system.slice/docker-0123….scope". */
void cgroup_parse_path(const char *path, size_t len, struct cgroup_owner *out);

/* Of the text of /proc/PID/cgroup: the line that says most counts. */
void cgroup_parse_text(const char *text, size_t len, struct cgroup_owner *out);
