/* SPDX-License-Identifier: Apache-2.0 */
#include "sampler/task_iterator.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"

/* One read() may return any number of bytes, so records are reassembled. */
static int read_records(int fd, void *buf, size_t len, sampler_record_fn fn, void *ctx)
{
	size_t have = 0;
	ssize_t n;

	while ((n = read(fd, (char *)buf + have, len - have)) != 0) {
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return -errno;
		have += (size_t)n;
		if (have < len)
			continue;
		fn(ctx, buf, len);
		have = 0;
	}
	return 0;
}

int task_iterator_read(const struct bpf_link *link, void *buf, size_t len, sampler_record_fn fn,
		       void *ctx)
{
	_cleanup_(closep) int fd = bpf_iter_create(bpf_link__fd(link));

	return fd < 0 ? -errno : read_records(fd, buf, len, fn, ctx);
}
