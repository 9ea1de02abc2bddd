/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sources, tried in this order until the container has a name and, if it belongs to a
 * pod, the pod has one too:
 *
 *   /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log  (kubelet)
 *   annotations or labels in JSON files of containerd, CRI-O, podman, docker
 *   /var/log/pods/NAMESPACE_POD_UID/CONTAINER/  (kubelet)
 *   /var/lib/kubelet/pods/UID/containers/CONTAINER/  (kubelet)
 *
 * All paths are below the host's root directory. A text that does not fit is not used.
 *
 * The runtimes may change these paths and members at any time, so there are several sources, and
 * a name stays empty rather than wrong. The sockets of the runtimes are not used because they
 * need the right to control containers.
 */
#include "metadata/container_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_read.h"
#include "base/regular_file.h"

enum { JSON_MAX = 4 << 20, NAMES_MAX_DEPTH = 8 };

static void set_if_empty(char *to, size_t cap, const char *from, size_t len)
{
	if (!to[0] && len < cap)
		snprintf(to, cap, "%.*s", (int)len, from);
}

#define SET_IF_EMPTY(field, from, len) set_if_empty(field, sizeof(field), from, len)

/* Paths are relative to the host's root, so that an agent in a container finds the host's files. */
static DIR *open_dir(int root_fd, const char *path)
{
	int fd = openat(root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		close(fd);
	return d;
}

/* ---- directories of the kubelet ----------------------------------------------------- */

/* Parses POD_NAMESPACE_CONTAINER-ID.log; none of the three names contains an underscore. */
static void find_log_link(int root_fd, const char *id, struct container_names *out)
{
	_cleanup_(closedirp) DIR *d = open_dir(root_fd, "var/log/containers");
	struct dirent *e;
	char end[80];

	snprintf(end, sizeof(end), "-%s.log", id);
	while (d && (e = readdir(d))) {
		size_t len = strlen(e->d_name), n = strlen(end);
		const char *namespace, *name;

		if (len <= n || strcmp(e->d_name + len - n, end) != 0)
			continue;
		namespace = strchr(e->d_name, '_');
		name = namespace ? strchr(namespace + 1, '_') : NULL;
		if (!name)
			return;
		SET_IF_EMPTY(out->pod, e->d_name, (size_t)(namespace - e->d_name));
		SET_IF_EMPTY(out->namespace, namespace + 1, (size_t)(name - namespace - 1));
		SET_IF_EMPTY(out->name, name + 1, (size_t)(e->d_name + len - n - name - 1));
		return;
	}
}

/* Returns the name of the only entry of @path; false if there are none or several. */
static bool only_entry(int root_fd, const char *path, char *out, size_t cap)
{
	_cleanup_(closedirp) DIR *d = open_dir(root_fd, path);
	struct dirent *e;
	size_t n = 0;

	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(out, cap, "%s", e->d_name);
		n++;
	}
	return n == 1;
}

static void only_container(int root_fd, const char *path, struct container_names *out)
{
	char name[256] = "";

	if (!out->name[0] && only_entry(root_fd, path, name, sizeof(name)))
		SET_IF_EMPTY(out->name, name, strlen(name));
}

/* Parses NAMESPACE_POD_UID. */
static void find_pod_logs(int root_fd, const char *uid, struct container_names *out)
{
	_cleanup_(closedirp) DIR *d = open_dir(root_fd, "var/log/pods");
	char path[PATH_MAX];
	struct dirent *e;

	while (d && (e = readdir(d))) {
		const char *pod = strchr(e->d_name, '_'), *end = strrchr(e->d_name, '_');

		if (!pod || end == pod || strcmp(end + 1, uid) != 0)
			continue;
		SET_IF_EMPTY(out->namespace, e->d_name, (size_t)(pod - e->d_name));
		SET_IF_EMPTY(out->pod, pod + 1, (size_t)(end - pod - 1));
		snprintf(path, sizeof(path), "var/log/pods/%s", e->d_name);
		only_container(root_fd, path, out);
		return;
	}
}

/* The last resort, because this directory shows neither names of pods nor namespaces. */
static void find_kubelet_pod(int root_fd, const char *uid, struct container_names *out)
{
	char path[128];

	snprintf(path, sizeof(path), "var/lib/kubelet/pods/%s/containers", uid);
	only_container(root_fd, path, out);
}

/* ---- JSON files of the runtimes ------------------------------------------------------- */

typedef void (*text_fn)(void *ctx, int depth, const char *key, const char *value);

/*
 * Calls @fn for every string below an object key, at any depth, and with the value NULL where an
 * object begins, whose members have the depth after it. The key is that of the innermost object.
 */
static int each_text(struct json_read *j, int depth, const char *key, text_fn fn, void *ctx)
{
	char own_key[128];
	int r, c = json_read_peek(j);

	if (c == '"') {
		r = json_read_string(j);
		if (r == 0)
			fn(ctx, depth, key, (const char *)j->text.data);
		return r;
	}
	if ((c != '{' && c != '[') || depth >= NAMES_MAX_DEPTH)
		return json_read_skip(j);
	r = json_read_open(j, (char)c);
	if (r < 0)
		return r;
	if (c == '{')
		fn(ctx, depth, key, NULL);
	while ((r = c == '{' ? json_read_key(j) : json_read_item(j)) > 0) {
		if (c == '{')
			snprintf(own_key, sizeof(own_key), "%s", (const char *)j->text.data);
		r = each_text(j, depth + 1, c == '{' ? own_key : key, fn, ctx);
		if (r < 0)
			return r;
	}
	return r;
}

/* Annotations and labels that the runtimes write. */
static void on_text(void *ctx, int depth, const char *key, const char *value)
{
	struct container_names *out = ctx;
	size_t len = value ? strlen(value) : 0;

	if (!value)
		return;
	if (!strcmp(key, "io.kubernetes.cri.container-name") ||
	    !strcmp(key, "io.kubernetes.container.name") || !strcmp(key, "nerdctl/name") ||
	    !strcmp(key, "com.docker.compose.service"))
		SET_IF_EMPTY(out->name, value, len);
	else if (!strcmp(key, "io.kubernetes.cri.sandbox-name") ||
		 !strcmp(key, "io.kubernetes.pod.name"))
		SET_IF_EMPTY(out->pod, value, len);
	else if (!strcmp(key, "io.kubernetes.cri.sandbox-namespace") ||
		 !strcmp(key, "io.kubernetes.pod.namespace"))
		SET_IF_EMPTY(out->namespace, value, len);
}

/* A file of JSON_MAX bytes or more is refused, since it would be read in part. */
static char *read_json(int root_fd, const char *path, size_t *out_len)
{
	const struct regular_file_query q = { .path = path, .root = root_fd, .copy_max = JSON_MAX };
	struct regular_file_info unread;
	_cleanup_(closep) int fd = regular_file_find(&q, &unread);
	_cleanup_(freep) char *text = fd < 0 ? NULL : malloc(JSON_MAX);
	size_t len = 0;
	ssize_t n = 0;

	while (text && len < JSON_MAX && (n = read(fd, text + len, JSON_MAX - len)) > 0)
		len += (size_t)n;
	if (!text || n < 0 || len == JSON_MAX)
		return NULL;
	*out_len = len;
	return steal_ptr(&text);
}

static bool read_texts(int root_fd, const char *path, text_fn fn, void *ctx)
{
	size_t len;
	_cleanup_(freep) char *text = read_json(root_fd, path, &len);
	struct json_read j;

	if (!text)
		return false;
	json_read_init(&j, text, len);
	(void)each_text(&j, 0, "", fn, ctx);
	json_read_fini(&j);
	return true;
}

/* The first file that exists decides, whatever it contains. */
static void find_annotations(int root_fd, const char *id, struct container_names *out)
{
	static const struct {
		const char *dir, *below, *runtime;
	} files[] = {
		{ "run/containerd/io.containerd.runtime.v2.task/k8s.io", "", "containerd" },
		{ "run/containerd/io.containerd.runtime.v2.task/default", "", "containerd" },
		{ "run/containers/storage/overlay-containers", "userdata/", "crio" },
		{ "var/lib/containers/storage/overlay-containers", "userdata/", "crio" },
	};
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s/%sconfig.json", files[i].dir, id,
			 files[i].below);
		if (read_texts(root_fd, path, on_text, out)) {
			SET_IF_EMPTY(out->runtime, files[i].runtime, strlen(files[i].runtime));
			return;
		}
	}
}

/*
 * Docker's own name ("/web") is at the top level. Labels of Docker Compose name a service,
 * not this container.
 */
static void on_docker_text(void *ctx, int depth, const char *key, const char *value)
{
	struct container_names *out = ctx;

	if (value && depth == 1 && !strcmp(key, "Name"))
		SET_IF_EMPTY(out->name, value + (*value == '/'), strlen(value + (*value == '/')));
	else if (strcmp(key, "com.docker.compose.service") != 0)
		on_text(ctx, depth, key, value);
}

static void find_docker(int root_fd, const char *id, struct container_names *out)
{
	struct container_names found = { 0 };
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "var/lib/docker/containers/%s/config.v2.json", id);
	if (!read_texts(root_fd, path, on_docker_text, &found))
		return;
	SET_IF_EMPTY(out->name, found.name, strlen(found.name));
	SET_IF_EMPTY(out->pod, found.pod, strlen(found.pod));
	SET_IF_EMPTY(out->namespace, found.namespace, strlen(found.namespace));
	SET_IF_EMPTY(out->runtime, "docker", strlen("docker"));
}

struct podman_job {
	const char *id;
	struct container_names *out;
	bool is_match; /* the last id read is the one sought */
};

/* Elements of [{"id":…,"names":[…],"metadata":…},…], the format of containers/storage. */
static void on_podman_text(void *ctx, int depth, const char *key, const char *value)
{
	struct podman_job *job = ctx;

	if (!value) {
		/* At depth 1, the object of another container begins. */
		if (depth == 1)
			job->is_match = false;
	} else if (depth == 2 && !strcmp(key, "id")) {
		job->is_match = !strcmp(value, job->id);
	} else if (depth == 3 && job->is_match && !strcmp(key, "names")) {
		SET_IF_EMPTY(job->out->name, value, strlen(value));
	}
}

static void find_podman(int root_fd, const char *id, struct container_names *out)
{
	static const char *const paths[] = {
		"var/lib/containers/storage/overlay-containers/containers.json",
		"run/containers/storage/overlay-containers/volatile-containers.json",
		"var/lib/containers/storage/overlay-containers/volatile-containers.json",
	};
	struct podman_job job = { .id = id, .out = out };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]) && !out->name[0]; i++)
		(void)read_texts(root_fd, paths[i], on_podman_text, &job);
}

/* A pod without container needs only the pod's names. */
static bool is_found(const struct cgroup_owner *owner, const struct container_names *n)
{
	return (n->name[0] || !owner->container_id[0]) &&
	       (!owner->pod_uid[0] || (n->pod[0] && n->namespace[0]));
}

void container_files_find(int root_fd, const struct cgroup_owner *owner,
			  struct container_names *out)
{
	static void (*const by_id[])(int, const char *, struct container_names *) = {
		find_log_link,
		find_docker,
		find_annotations,
		find_podman,
	};
	static void (*const by_pod[])(int, const char *, struct container_names *) = {
		find_pod_logs,
		find_kubelet_pod,
	};

	for (size_t i = 0; i < sizeof(by_id) / sizeof(by_id[0]); i++)
		if (owner->container_id[0] && !is_found(owner, out))
			by_id[i](root_fd, owner->container_id, out);
	for (size_t i = 0; i < sizeof(by_pod) / sizeof(by_pod[0]); i++)
		if (owner->pod_uid[0] && !is_found(owner, out))
			by_pod[i](root_fd, owner->pod_uid, out);
}
