/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A file on a disk with a given delay per page: a FUSE file system with one file of zeros.
 * A reader waits as for any disk: in the page cache, uninterruptibly.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { SLOW_NODE = 2, SLOW_REQUEST_MAX = 1 << 18, SLOW_READ_MAX = 1 << 17 };

struct slow_file {
	int fd; /* the kernel's requests */
	uint64_t size;
	useconds_t pause_us;
};

static struct fuse_attr slow_attr(const struct slow_file *s, uint64_t node)
{
	bool is_file = node == SLOW_NODE;

	return (struct fuse_attr){ .ino = node,
				   .mode = is_file ? S_IFREG | 0400 : S_IFDIR | 0500,
				   .nlink = 1,
				   .size = is_file ? s->size : 0 };
}

static void slow_answer(const struct slow_file *s, uint64_t unique, const void *body, size_t len)
{
	struct fuse_out_header h = { .len = (uint32_t)(sizeof(h) + len),
				     .error = body ? 0 : -ENOSYS,
				     .unique = unique };
	struct iovec parts[2] = { { &h, sizeof(h) }, { (void *)body, len } };

	if (writev(s->fd, parts, 2) < 0 && errno != ENOENT)
		abort();
}

static void slow_serve_one(const struct slow_file *s, const struct fuse_in_header *in)
{
	static const char zeros[SLOW_READ_MAX];
	/* with asynchronous reads the reader waits for the page, not for the FUSE reply */
	const struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION,
					    .minor = 26,
					    .flags = FUSE_ASYNC_READ,
					    .max_readahead = 1 << 12 };
	const struct fuse_entry_out entry = { .nodeid = SLOW_NODE,
					      .attr = slow_attr(s, SLOW_NODE) };
	const struct fuse_attr_out attr = { .attr = slow_attr(s, in->nodeid) };
	const struct fuse_open_out opened = { 0 };
	uint32_t size;

	switch (in->opcode) {
	case FUSE_INIT:
		slow_answer(s, in->unique, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		slow_answer(s, in->unique, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		slow_answer(s, in->unique, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		slow_answer(s, in->unique, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		size = ((const struct fuse_read_in *)(in + 1))->size;
		usleep(s->pause_us);
		slow_answer(s, in->unique, zeros, size < sizeof(zeros) ? size : sizeof(zeros));
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		slow_answer(s, in->unique, NULL, 0);
	}
}

static void *slow_serve(void *arg)
{
	struct slow_file *s = arg;
	char *request = malloc(SLOW_REQUEST_MAX);

	for (;;) {
		ssize_t n = read(s->fd, request, SLOW_REQUEST_MAX);

		if (n >= (ssize_t)sizeof(struct fuse_in_header))
			slow_serve_one(s, (const struct fuse_in_header *)request);
		else if (errno != EINTR && errno != ENOENT)
			break;
	}
	free(request);
	return NULL;
}

/*
 * Returns the descriptor of the file; -1 if FUSE is not allowed here. @n_servers detached threads
 * serve it until the process exits. It is mounted at @dir only until it is open.
 */
static int slow_file_open(struct slow_file *s, const char *dir, int n_servers)
{
	char text[128];
	pthread_t thread;
	int fd;

	s->fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(text, sizeof(text), "fd=%d,rootmode=40500,user_id=0,group_id=0", s->fd);
	if (s->fd < 0 || (mkdir(dir, 0700) < 0 && errno != EEXIST) ||
	    mount("slow", dir, "fuse", MS_NOSUID | MS_NODEV, text) < 0)
		return -1;
	while (n_servers--)
		if (pthread_create(&thread, NULL, slow_serve, s) || pthread_detach(thread))
			abort();
	snprintf(text, sizeof(text), "%.100s/file", dir);
	fd = open(text, O_RDONLY | O_CLOEXEC);
	umount2(dir, MNT_DETACH);
	return fd;
}
