/* SPDX-License-Identifier: Apache-2.0 */
/* Parses responses of the kubelet, state files of container runtimes, and cgroup paths. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "metadata/cgroup.h"
#include "metadata/container_files.h"
#include "metadata/kubelet.h"

#define ID "feedc0defeedc0defeedc0defeedc0defeedc0defeedc0defeedc0defeedc0de"

/* The input is one file, linked under the names of three runtimes' state files. */
static const char *const names[] = {
	"var/lib/docker/containers/" ID "/config.v2.json",
	"run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json",
	"var/lib/containers/storage/overlay-containers/containers.json",
};

enum { N_NAMES = sizeof(names) / sizeof(names[0]) };

static char root[] = "/tmp/cameo-fuzz.XXXXXX";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Creates each directory above @name or, with @make false, removes them, innermost first. */
static void each_directory(const char *name, bool make)
{
	char path[256];

	snprintf(path, sizeof(path), "%s", name);
	for (char *p = path; make && (p = strchr(p, '/')); *p++ = '/') {
		*p = 0;
		(void)mkdir(path, 0700);
	}
	for (char *p; !make && (p = strrchr(path, '/'));) {
		*p = 0;
		(void)rmdir(path);
	}
}

static void clean_up(void)
{
	if (chdir(root) < 0)
		return;
	for (int i = 0; i < N_NAMES; i++) {
		unlink(names[i]);
		each_directory(names[i], false);
	}
	(void)!chdir("/");
	rmdir(root);
}

/* All names are links to this file; the working directory is the root. */
static int set_up(void)
{
	int fd = -1;

	if (!mkdtemp(root) || chdir(root) < 0)
		abort();
	atexit(clean_up);
	for (int i = 0; i < N_NAMES; i++) {
		each_directory(names[i], true);
		if (i == 0)
			fd = open(names[0], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		else if (link(names[0], names[i]) < 0)
			abort();
	}
	return fd;
}

static void check(const struct container_names *n)
{
	if (strnlen(n->name, sizeof(n->name)) == sizeof(n->name) ||
	    strnlen(n->pod, sizeof(n->pod)) == sizeof(n->pod) ||
	    strnlen(n->namespace, sizeof(n->namespace)) == sizeof(n->namespace))
		abort();
}

static int on_container(void *ctx, const struct kubelet_container *c)
{
	size_t *n = ctx;

	*n += strlen(c->id) + strlen(c->name) + strlen(c->pod) + strlen(c->namespace) +
	      strlen(c->uid);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static int fd = -1;
	struct cgroup_owner owner = { .container_id = ID }, parsed;
	struct container_names found = { 0 };
	size_t n = 0;

	if (fd < 0)
		fd = set_up();
	if (ftruncate(fd, 0) < 0 || pwrite(fd, data, len, 0) != (ssize_t)len)
		abort();
	container_files_find(AT_FDCWD, &owner, &found);
	check(&found);
	(void)kubelet_parse(data, len, on_container, &n);
	cgroup_parse_text((const char *)data, len, &parsed);
	return 0;
}
