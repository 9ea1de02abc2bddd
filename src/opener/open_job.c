/* SPDX-License-Identifier: Apache-2.0 */
#include "opener/open_job.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <string.h>
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

/* Returns a descriptor of a copy. Closes @fd. */
static int copy(int fd, uint64_t size, uint64_t max)
{
	_cleanup_(closep) int from = fd;
	struct role_memfd m;
	int r, sealed;

	if (!size)
		return steal_fd(&from);
	if (size > max)
		return -EFBIG;
	r = role_memfd_new(&m, (size_t)size);
	if (r < 0)
		return r;
	r = copy_bytes(&m, from);
	sealed = role_memfd_seal(&m);
	if (r < 0 && sealed >= 0)
		close(sealed);
	return r < 0 ? r : sealed;
}

int open_job(struct role_call *call)
{
	const struct open_request *request = call->request;
	size_t path_len = call->request_len - sizeof(*request);
	struct open_reply reply = { 0 };
	const struct regular_file_query q = {
		.path = request->path,
		.root = request->has_root && call->n_fds ? call->fds[0] : -1,
		.nofollow = request->nofollow,
	};
	int fd;

	if (request->path[path_len - 1] || request->has_root != call->n_fds ||
	    request->copy_max > OPEN_COPY_MAX)
		return -EINVAL;
	fd = regular_file_find_here(&q, &reply.info);
	if (fd >= 0 && is_remote(reply.info.fs_magic)) {
		fd = copy(fd, (uint64_t)reply.info.st.st_size, request->copy_max);
		reply.info.is_copy = true;
	}
	if (fd < 0)
		return fd;
	memcpy(call->reply, &reply, sizeof(reply));
	call->reply_len = sizeof(reply);
	call->reply_fds[call->n_reply_fds++] = fd;
	return 0;
}
