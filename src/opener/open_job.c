/* SPDX-License-Identifier: Apache-2.0 */
#include "opener/open_job.h"

#include <errno.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "opener/open_message.h"
#include "roles/memfd.h"
#include "roles/role.h"

/*
 * File systems that another machine or program answers for. The numbers are those of Lustre, GPFS
 * and VirtualBox, which linux/magic.h lacks.
 */
static const unsigned long remote[] = {
	FUSE_SUPER_MAGIC, NFS_SUPER_MAGIC,  SMB_SUPER_MAGIC, CIFS_SUPER_MAGIC, SMB2_SUPER_MAGIC,
	V9FS_MAGIC,       CEPH_SUPER_MAGIC, AFS_SUPER_MAGIC, AFS_FS_MAGIC,     CODA_SUPER_MAGIC,
	NCP_SUPER_MAGIC,  0x0bd00bd0,       0x47504653,      0x786f4256,
};

/* A server may refuse statfs(), so that the file system is unknown. */
static bool is_remote(unsigned long magic)
{
	if (!magic)
		return true;
	for (size_t i = 0; i < sizeof(remote) / sizeof(*remote); i++)
		if (remote[i] == magic)
			return true;
	return false;
}

/* Fills @m from @fd. A file that became shorter is an error. */
static int copy_bytes(const struct role_memfd *m, int fd)
{
	size_t at = 0;

	while (at < m->len) {
		ssize_t n = pread(fd, (char *)m->data + at, m->len - at, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		at += (size_t)n;
	}
	return 0;
}

/*
 * Users may mount overlayfs over FUSE in a namespace of their own, and nothing reports what is
 * below an overlayfs. The file systems of disks can report where a file is on them, which overlayfs
 * passes on, and FUSE cannot. A file in memory (tmpfs) is copied as well.
 */
static bool may_be_layered_over_remote(int fd, unsigned long magic)
{
	struct fiemap where = { .fm_length = 1 };

	return magic == OVERLAYFS_SUPER_MAGIC && ioctl(fd, FS_IOC_FIEMAP, &where) < 0;
}

/* Copies @size bytes of @from to the empty memory file @to, and leaves no mapping of that. */
static int copy(int from, int to, uint64_t size, uint64_t max)
{
	struct role_memfd m;
	int r;

	if (size > max)
		return -EFBIG;
	if (!size)
		return 0;
	r = role_memfd_extend(&m, to, (size_t)size);
	if (r < 0)
		return r;
	r = copy_bytes(&m, from);
	role_memfd_unmap(&m);
	return r;
}

static bool is_valid(const struct role_call *call)
{
	const struct open_request *request = call->request;
	size_t path_len = call->request_len - sizeof(*request);

	return !request->path[path_len - 1] && request->has_root <= 1 && request->is_of_proc <= 1 &&
	       call->n_fds == request->has_root + 1 && request->copy_max <= OPEN_COPY_MAX;
}

int open_job(struct role_call *call)
{
	const struct open_request *request = call->request;
	struct open_reply reply = { 0 };
	const struct regular_file_query q = {
		.path = request->path,
		.root = request->has_root ? call->fds[0] : -1,
		.nofollow = request->nofollow,
		.is_of_proc = request->is_of_proc,
	};
	_cleanup_(closep) int fd = -1;
	int r = 0;

	if (!is_valid(call))
		return -EINVAL;
	fd = regular_file_find_here(&q, &reply.info);
	if (fd < 0)
		return fd;
	/* also without contents: the server may be needed to read that there are none */
	if (is_remote(reply.info.fs_magic) ||
	    (request->is_user && may_be_layered_over_remote(fd, reply.info.fs_magic))) {
		r = copy(fd, call->fds[request->has_root], (uint64_t)reply.info.st.st_size,
			 request->copy_max);
		reply.info.is_copy = true;
	} else {
		call->reply_fds[call->n_reply_fds++] = steal_fd(&fd);
	}
	if (r < 0)
		return r;
	memcpy(call->reply, &reply, sizeof(reply));
	call->reply_len = sizeof(reply);
	return 0;
}
