/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks up a tracepoint's id in tracefs. If tracefs is not mounted, it is mounted detached
 * from the file tree (Linux 5.2), visible to this process only, and unmounted when the
 * descriptor is closed.
 */
#include "sampler/tracepoint.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "sampler/event.h"

enum { GROUP_MAX = 64, NAME_MAX_LEN = 128 };

/* Mounts tracefs detached. Returns a descriptor of its events directory, or -errno. */
static int mount_detached(void)
{
	_cleanup_(closep) int fs = fsopen("tracefs", FSOPEN_CLOEXEC), mnt = -1;
	int fd;

	if (fs < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	mnt = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	if (mnt < 0)
		return -errno;
	fd = openat(mnt, "events", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_events(struct err *err)
{
	static const char *const places[] = { "/sys/kernel/tracing/events",
					      "/sys/kernel/debug/tracing/events" };
	int fd;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		fd = open(places[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			return fd;
	}
	fd = mount_detached();
	if (fd == -EPERM || fd == -EACCES)
		return err_set(err, fd, "no permission to look up tracepoints: run as root");
	if (fd < 0)
		return err_set(err, fd,
			       "cannot look up tracepoints (%s): run \"mount -t tracefs none "
			       "/sys/kernel/tracing\"",
			       strerror(-fd));
	return fd;
}

static int report_missing(int events, const char *group, const char *name, struct err *err)
{
	if (faccessat(events, group, F_OK, 0) < 0)
		return err_set(err, -ENOENT,
			       "--event \"%.40s:%.60s\": this kernel has no tracepoints in the "
			       "group \"%.40s\"",
			       group, name, group);
	return err_set(err, -ENOENT,
		       "--event \"%.40s:%.60s\": unknown tracepoint; "
		       "/sys/kernel/tracing/events/%.40s lists those of this group",
		       group, name, group);
}

/* Reads events/GROUP/NAME/id. */
static int read_id(int events, const char *group, const char *name, uint64_t *out, struct err *err)
{
	_cleanup_(fclosep) FILE *f = NULL;
	char path[GROUP_MAX + NAME_MAX_LEN + 8];
	unsigned int id;
	int fd;

	snprintf(path, sizeof(path), "%s/%s/id", group, name);
	fd = openat(events, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return report_missing(events, group, name, err);
	if (fd < 0)
		return err_set(err, -errno, "cannot read the id of tracepoint \"%.40s:%.60s\": %s",
			       group, name, strerror(errno));
	f = fdopen(fd, "r");
	if (!f) {
		close(fd);
		return -ENOMEM;
	}
	if (fscanf(f, "%u", &id) != 1)
		return err_set(err, -EBADMSG,
			       "tracepoint \"%.40s:%.60s\": the kernel did not return an id", group,
			       name);
	*out = id;
	return 0;
}

int tracepoint_parse(const char *text, struct event *out, struct err *err)
{
	_cleanup_(closep) int events = -1;
	char group[GROUP_MAX], name[NAME_MAX_LEN];
	const char *letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	size_t n = strspn(text, letters), m = text[n] == ':' ? strspn(text + n + 1, letters) : 0;
	uint64_t id = 0;
	int r;

	if (!n || n >= sizeof(group) || !m || m >= sizeof(name) || text[n + 1 + m])
		return err_set(err, -EINVAL,
			       "--event \"%.80s\": invalid tracepoint; expected GROUP:NAME", text);
	snprintf(group, sizeof(group), "%.*s", (int)n, text);
	snprintf(name, sizeof(name), "%s", text + n + 1);
	events = open_events(err);
	if (events < 0)
		return events;
	r = read_id(events, group, name, &id, err);
	if (r < 0)
		return r;
	*out = (struct event){
		.kind = EVENT_TRACEPOINT, .type = PERF_TYPE_TRACEPOINT, .config = id, .period = 1
	};
	out->name = strdup(text);
	return out->name ? 0 : -ENOMEM;
}
