/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Path components are recognized by their shape, not by their position: a run of 64 hex digits is a
 * container id, "pod" followed by a uid is a pod, and the suffixes .service, .scope and .slice are
 * systemd's. The deepest match of each kind counts. Recognizing positions was not an option: the
 * same container has different paths under systemd, cgroupfs, nested runtimes and cgroup
 * namespaces.
 *
 * Every user may create cgroups below the unit of their own systemd instance. Containers and pods
 * are not recognized there, or a user's samples could appear as those of any container.
 */
#include "metadata/cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { ID_LEN = 64, UID_LEN = 36, BARE_UID_LEN = 32 };

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static size_t hex_run(const char *s, size_t len)
{
	size_t n = 0;

	while (n < len && is_hex(s[n]))
		n++;
	return n;
}

static bool contains(const char *s, size_t len, const char *word)
{
	return memmem(s, len, word, strlen(word)) != NULL;
}

static bool ends_in(const char *s, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len > n && !memcmp(s + len - n, end, n);
}

/*
 * The order matters: "cri-containerd" contains "containerd", and podman's monitors contain
 * "libpod".
 */
static const char *runtime_of(const char *path, size_t len)
{
	static const struct {
		const char *mark, *name;
	} marks[] = {
		{ "cri-containerd", "containerd" },
		{ "nerdctl", "containerd" },
		{ "containerd", "containerd" },
		{ "crio", "crio" },
		{ "libpod", "podman" },
		{ "docker", "docker" },
	};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (contains(path, len, marks[i].mark))
			return marks[i].name;
	return "";
}

/* Helper processes that monitor a container are not part of it. */
static bool is_monitor(const char *s, size_t len)
{
	return contains(s, len, "conmon");
}

/* A run counts if it has exactly 64 digits: longer ones are other hashes. */
static void find_container(const char *s, size_t len, struct cgroup_owner *out)
{
	for (size_t i = 0; i < len; i++) {
		size_t n = hex_run(s + i, len - i);

		if (n == ID_LEN && !is_monitor(s, len)) {
			memcpy(out->container_id, s + i, ID_LEN);
			out->container_id[ID_LEN] = 0;
			return;
		}
		i += n;
	}
}

/* 8-4-4-4-12 hex digits, separated by dashes, or by underscores if systemd made the name. */
static bool is_uid(const char *s)
{
	for (int i = 0; i < UID_LEN; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? s[i] != '-' && s[i] != '_' : !is_hex(s[i]))
			return false;
	}
	return true;
}

static void find_pod(const char *s, size_t len, struct cgroup_owner *out)
{
	for (size_t i = 0; i + 3 < len; i++) {
		const char *uid = s + i + 3;
		size_t n_left = len - i - 3;

		if (memcmp(s + i, "pod", 3) != 0)
			continue;
		if (n_left >= UID_LEN && is_uid(uid)) {
			snprintf(out->pod_uid, sizeof(out->pod_uid), "%.*s", UID_LEN, uid);
			for (char *p = out->pod_uid; *p; p++)
				*p = *p == '_' ? '-' : *p;
		} else if (n_left >= BARE_UID_LEN && hex_run(uid, n_left) == BARE_UID_LEN) {
			/* a static pod has a uid without separators */
			snprintf(out->pod_uid, sizeof(out->pod_uid), "%.*s", BARE_UID_LEN, uid);
		}
	}
}

/* The unit of a user's own systemd, "user@1000.service". */
static bool is_of_user(const char *s, size_t len)
{
	static const char begin[] = "user@";

	return len > sizeof(begin) - 1 && !memcmp(s, begin, sizeof(begin) - 1) &&
	       ends_in(s, len, ".service");
}

/*
 * A scope that belongs to a container is not a unit of its own. @by_user: a user has chosen the
 * name, which may be that of a container or pod of others.
 */
static void parse_component(const char *s, size_t len, bool by_user, struct cgroup_owner *out)
{
	struct cgroup_owner found = { 0 };

	if (!by_user) {
		find_container(s, len, &found);
		find_pod(s, len, out);
	}
	if (found.container_id[0])
		memcpy(out->container_id, found.container_id, sizeof(out->container_id));
	if (ends_in(s, len, ".slice") && len < sizeof(out->slice))
		snprintf(out->slice, sizeof(out->slice), "%.*s", (int)len, s);
	else if (!found.container_id[0] && len < sizeof(out->unit) &&
		 (ends_in(s, len, ".service") || ends_in(s, len, ".scope")))
		snprintf(out->unit, sizeof(out->unit), "%.*s", (int)len, s);
}

void cgroup_parse_path(const char *path, size_t len, struct cgroup_owner *out)
{
	const char *p = path, *end = path + len;
	bool by_user = false;

	*out = (struct cgroup_owner){ 0 };
	while (p < end) {
		const char *slash = memchr(p, '/', (size_t)(end - p));
		const char *stop = slash ? slash : end;

		if (stop > p)
			parse_component(p, (size_t)(stop - p), by_user, out);
		by_user = by_user || is_of_user(p, (size_t)(stop - p));
		p = stop + 1;
	}
	if (out->container_id[0])
		snprintf(out->runtime, sizeof(out->runtime), "%s", runtime_of(path, len));
}

/* Ranks a line: a container id is worth more than a pod, a pod more than a unit or slice. */
static int rank(const struct cgroup_owner *o)
{
	return 4 * (o->container_id[0] != 0) + 2 * (o->pod_uid[0] != 0) + (o->unit[0] != 0) +
	       (o->slice[0] != 0);
}

void cgroup_parse_text(const char *text, size_t len, struct cgroup_owner *out)
{
	const char *end = text + len;

	*out = (struct cgroup_owner){ 0 };
	while (text < end) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));
		const char *stop = eol ? eol : end;
		/* hierarchy:controllers:path */
		const char *colon = memchr(text, ':', (size_t)(stop - text));
		struct cgroup_owner o;

		if (colon)
			colon = memchr(colon + 1, ':', (size_t)(stop - colon - 1));
		if (colon) {
			cgroup_parse_path(colon + 1, (size_t)(stop - colon - 1), &o);
			if (rank(&o) > rank(out))
				*out = o;
		}
		text = stop + 1;
	}
}
