/* SPDX-License-Identifier: Apache-2.0 */
#include "opener/process_jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "opener/maps_message.h"
#include "opener/open_message.h"
#include "opener/resident_message.h"
#include "proc/maps.h"
#include "proc/memory.h"
#include "proc/resident_pages.h"
#include "roles/memfd.h"
#include "roles/role.h"

int memory_job(struct role_call *call)
{
	const struct memory_request *request = call->request;
	int r;

	if (request->len > ROLE_BODY_MAX)
		return -EINVAL;
	r = proc_memory_read_here(request->pid, request->addr, call->reply, request->len);
	call->reply_len = r == 0 ? request->len : 0;
	return r;
}

static int put_map(void *ctx, const struct proc_map *m)
{
	return maps_message_put(ctx, m);
}

static int reply_with(struct role_call *call, const struct buf *b)
{
	struct role_memfd m;
	int r;

	if (b->len <= ROLE_BODY_MAX) {
		if (b->len)
			memcpy(call->reply, b->data, b->len);
		call->reply_len = b->len;
		return 0;
	}
	r = role_memfd_new(&m, b->len);
	if (r < 0)
		return r;
	memcpy(m.data, b->data, b->len);
	r = role_memfd_seal(&m);
	if (r < 0)
		return r;
	call->reply_fds[call->n_reply_fds++] = r;
	return 0;
}

int maps_job(struct role_call *call)
{
	const struct maps_request *request = call->request;
	_cleanup_(buf_fini) struct buf b = { 0 };
	struct maps_writer w = { .out = &b, .bytes_max = request->bytes_max };
	int r;

	if (request->filter > PROC_MAPS_EXEC || request->bytes_max > MAPS_BYTES_MAX)
		return -EINVAL;
	r = proc_maps_read_here((int)request->pid, (enum proc_maps_filter)request->filter, put_map,
				&w, NULL);
	return r < 0 ? r : reply_with(call, &b);
}

int environ_job(struct role_call *call)
{
	const struct environ_request *request = call->request;
	_cleanup_(closep) int fd = -1;
	char path[32];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/environ", request->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = pread(fd, call->reply, ROLE_BODY_MAX, (off_t)request->offset);
	if (n < 0)
		return -errno;
	call->reply_len = (size_t)n;
	return 0;
}

/* Records that were not sent yet; they fit a part. */
struct resident_parts {
	struct role_call *call;
	struct buf b;
};

static int send_part(struct resident_parts *p)
{
	int r = buf_error(&p->b);

	if (r == 0 && p->b.len)
		r = role_call_part(p->call, 0, p->b.data, p->b.len);
	p->b.len = 0;
	return r;
}

static int make_room(struct resident_parts *p)
{
	return p->b.len + RESIDENT_RECORD_MAX > ROLE_BODY_MAX ? send_part(p) : 0;
}

static int put_mapping(void *ctx, const struct proc_resident_mapping *m)
{
	struct resident_parts *p = ctx;
	int r = make_room(p);

	resident_message_put_mapping(&p->b, m);
	return r;
}

static int put_pages(void *ctx, const struct proc_pages *pages)
{
	struct resident_parts *p = ctx;
	int r = make_room(p);

	resident_message_put_pages(&p->b, pages);
	return r;
}

int resident_job(struct role_call *call)
{
	const struct resident_request *request = call->request;
	struct resident_parts parts = { .call = call };
	const struct proc_resident_sink sink = { request->has_mappings ? put_mapping : NULL,
						 put_pages, &parts };
	int r = proc_resident_read_here(request->pid, &sink);

	if (r == 0)
		r = send_part(&parts);
	buf_fini(&parts.b);
	return r;
}
