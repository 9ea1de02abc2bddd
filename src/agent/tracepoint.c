/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tracepoint's number is in tracefs. Where nobody has mounted that, it is mounted at no
 * place, for this process alone and for as long as it looks (since 5.2).
 */
#include "agent/tracepoint.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#include "agent/events.h"
#include "base/cleanup.h"
#include "base/err.h"

enum { GROUP_MAX = 64, NAME_MAX_LEN = 128 };

/* The directory of all events, or -errno. */
static int mount_nowhere(void)
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
	fd = mount_nowhere();
	if (fd == -EPERM || fd == -EACCES)
		return err_set(err, fd, "no permission to look tracepoints up: run as root");
	if (fd < 0)
		return err_set(err, fd,
			       "tracepoints can't be looked up (%s): mount -t tracefs none "
			       "/sys/kernel/tracing",
			       strerror(-fd));
	return fd;
}

static int not_there(int events, const char *group, const char *name, struct err *err)
{
	if (faccessat(events, group, F_OK, 0) < 0)
		return err_set(err, -ENOENT,
			       "-e: no event %.40s:%.60s: this kernel has no tracepoints of the "
			       "group %.40s",
			       group, name, group);
	return err_set(err, -ENOENT,
		       "-e: no event %.40s:%.60s: /sys/kernel/tracing/events/%.40s has those that "
		       "there are",
		       group, name, group);
}

/* The number in events/GROUP/NAME/id. */
static int read_id(int events, const char *group, const char *name, uint64_t *out, struct err *err)
{
	_cleanup_(fclosep) FILE *f = NULL;
	char path[GROUP_MAX + NAME_MAX_LEN + 8];
	unsigned int id;
	int fd;

	snprintf(path, sizeof(path), "%s/%s/id", group, name);
	fd = openat(events, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return not_there(events, group, name, err);
	if (fd < 0)
		return err_set(err, -errno, "can't read the tracepoint %.40s:%.60s: %s", group,
			       name, strerror(errno));
	f = fdopen(fd, "r");
	if (!f) {
		close(fd);
		return -ENOMEM;
	}
	if (fscanf(f, "%u", &id) != 1)
		return err_set(err, -EBADMSG, "the kernel gives %.40s:%.60s no number", group,
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
		return err_set(err, -EINVAL, "-e: a tracepoint is GROUP:NAME, not %.80s", text);
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
