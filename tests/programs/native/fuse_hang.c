/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse_hang DIR FILE [OFFSET]: mounts a FUSE file system with one file, DIR/program, which has the
 * contents of FILE, and prints "ready". After SIGUSR1 it reads requests and answers none, so that
 * everybody who uses the file waits; after SIGUSR2 it only does not answer reads beyond OFFSET (0);
 * after SIGHUP each answer takes a second; after SIGURG the file has no length, and reads, which
 * bypass the cache, are not answered. Needs root. The protocol is that of <linux/fuse.h>,
 * version 7.12 and later.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { ROOT = 1, FILE_NODE = 2, REQUEST_MAX = 1 << 20 };

static volatile sig_atomic_t hangs, hangs_reads, is_slow, is_empty;
static struct stat file;
static int file_fd, dev;
static uint64_t hang_from;

static void on_signal(int sig)
{
	if (sig == SIGHUP)
		is_slow = 1;
	else if (sig == SIGURG)
		is_empty = hangs_reads = 1;
	else
		*(sig == SIGUSR1 ? &hangs : &hangs_reads) = 1;
}

static void reply(const struct fuse_in_header *in, int error, const void *data, size_t len)
{
	struct fuse_out_header out = { .len = (uint32_t)(sizeof(out) + len),
				       .error = error,
				       .unique = in->unique };
	struct iovec v[] = { { &out, sizeof(out) }, { (void *)data, len } };

	if (writev(dev, v, 2) < 0 && errno != ENOENT)
		perror("fuse_hang: writev");
}

static struct fuse_attr attr_of(uint64_t node)
{
	return (struct fuse_attr){
		.ino = node,
		.size = node == ROOT || is_empty ? 0 : (uint64_t)file.st_size,
		.blocks = ((uint64_t)file.st_size + 511) / 512,
		.mode = node == ROOT ? S_IFDIR | 0755 : S_IFREG | 0755,
		.nlink = 1,
		.blksize = 4096,
	};
}

static void do_read(const struct fuse_in_header *in, const struct fuse_read_in *rd)
{
	char *part = malloc(rd->size);
	ssize_t n = pread(file_fd, part, rd->size, (off_t)rd->offset);

	reply(in, n < 0 ? -EIO : 0, part, n < 0 ? 0 : (size_t)n);
	free(part);
}

static void do_open(const struct fuse_in_header *in)
{
	/* nobody waits for the same request as another, which could be killed */
	bool is_direct = is_empty || (hangs_reads && hang_from);
	/* opening the file again leaves the pages that are in memory */
	struct fuse_open_out out = { .fh = 1,
				     .open_flags =
					     FOPEN_KEEP_CACHE | (is_direct ? FOPEN_DIRECT_IO : 0) };

	reply(in, 0, &out, sizeof(out));
}

static void answer(const struct fuse_in_header *in, const void *arg)
{
	switch (in->opcode) {
	case FUSE_INIT: {
		struct fuse_init_out out = { .major = FUSE_KERNEL_VERSION,
					     .minor = FUSE_KERNEL_MINOR_VERSION,
					     .max_readahead = 65536,
					     .max_write = 4096 };

		reply(in, 0, &out, sizeof(out));
		break;
	}
	case FUSE_LOOKUP: {
		struct fuse_entry_out out = { .nodeid = FILE_NODE, .attr = attr_of(FILE_NODE) };

		if (strcmp(arg, "program") != 0)
			reply(in, -ENOENT, NULL, 0);
		else
			reply(in, 0, &out, sizeof(out));
		break;
	}
	case FUSE_GETATTR: {
		struct fuse_attr_out out = { .attr = attr_of(in->nodeid) };

		reply(in, 0, &out, sizeof(out));
		break;
	}
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		do_open(in);
		break;
	case FUSE_READ:
		if (!hangs_reads || ((const struct fuse_read_in *)arg)->offset < hang_from)
			do_read(in, arg);
		break;
	case FUSE_STATFS: {
		struct fuse_statfs_out out = { .st = { .bsize = 4096, .namelen = 255 } };

		reply(in, 0, &out, sizeof(out));
		break;
	}
	case FUSE_READDIR:
		reply(in, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_FLUSH:
		reply(in, 0, NULL, 0);
		break;
	default:
		reply(in, -ENOSYS, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	static char request[REQUEST_MAX];
	char options[100];
	struct sigaction sa = { .sa_handler = on_signal };

	file_fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	dev = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	hang_from = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	if (argc < 3 || file_fd < 0 || dev < 0 || fstat(file_fd, &file) < 0) {
		perror("fuse_hang");
		return 77;
	}
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 dev);
	if (mount("cameo-test", argv[1], "fuse", MS_NODEV | MS_NOSUID, options) < 0) {
		perror("fuse_hang: mount");
		return 77;
	}
	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGUSR2, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	sigaction(SIGURG, &sa, NULL);
	puts("ready");
	fflush(stdout);
	for (;;) {
		ssize_t n = read(dev, request, sizeof(request));

		if (n < 0 && errno == ENODEV)
			return 0;
		if (n < 0 && errno != EINTR)
			return 1;
		if (n > 0 && is_slow)
			sleep(1);
		if (n > 0 && !hangs)
			answer((struct fuse_in_header *)request,
			       request + sizeof(struct fuse_in_header));
	}
}
