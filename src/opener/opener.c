/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client: one request for a file, charged to its device or to where its path begins, or for
 * something of a process, charged to that.
 */
#include "opener/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/regular_file.h"
#include "opener/maps_message.h"
#include "opener/open_job.h"
#include "opener/open_message.h"
#include "opener/process_jobs.h"
#include "opener/resident_message.h"
#include "proc/maps.h"
#include "proc/memory.h"
#include "proc/resident_pages.h"
#include "proc/user.h"
#include "roles/memfd.h"
#include "roles/pool.h"
#include "roles/role.h"

enum {
	OPENERS_MAX = 2,
	ABANDONED_MAX = 16,
	ABANDONED_BY_USER_MAX = 2,
	TIMEOUT_MS = 500, /* an open takes microseconds, but loaded machines need more */
	READ_TIMEOUT_MS = 200,
	MAPS_TIMEOUT_MS = 1000, /* without mappings, a program has neither stacks nor names */
	RESIDENT_TIMEOUT_MS = 2000,
	RESIDENT_MS_PER_GIB = 200, /* the kernel visits each page twice */
	OWNER_COMPONENTS = 2,
};

/* One for the process, like what regular_file_find() does; never freed. */
static struct role_pool *openers;
static size_t copy_bytes = OPEN_COPY_MAX, maps_bytes = MAPS_BYTES_MAX;

static const struct role_job jobs[] = {
	{ OPENER_OPEN, sizeof(struct open_request) + 1, open_job },
	{ OPENER_READ, sizeof(struct memory_request), memory_job },
	{ OPENER_MAPS, sizeof(struct maps_request), maps_job },
	{ OPENER_ENVIRON, sizeof(struct environ_request), environ_job },
	{ OPENER_RESIDENT, sizeof(struct resident_request), resident_job },
};

const struct role opener_role = {
	.name = "cameo-opener",
	.sandbox = SANDBOX_OPENER,
	.jobs = jobs,
	.n_jobs = sizeof(jobs) / sizeof(*jobs),
};

/*
 * The length of the first two components of a path, such as "/home/user", below which one user may
 * have mounted several file systems.
 */
static size_t beginning(const char *path)
{
	const char *p = path;

	for (int i = 0; i < OWNER_COMPONENTS; i++) {
		p += strspn(p, "/");
		p += strcspn(p, "/");
	}
	return (size_t)(p - path);
}

/* Identifies a directory and its mount without a request to its file system. */
static uint64_t root_key(int root)
{
	struct statx st = { 0 };

	if (root < 0 ||
	    statx(root, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_MNT_ID, &st) < 0)
		return 1;
	return hash_u64(st.stx_mnt_id) ^
	       (st.stx_ino * 31 + ((uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor) + 2);
}

/* A path that is not charged to anything else is charged to itself and to its beginning. */
static void choose_payers(const struct regular_file_query *q, uint64_t out[ROLE_PAYERS])
{
	uint64_t root;

	out[0] = q->payers[0];
	out[1] = q->payers[1];
	if (out[0])
		return;
	root = root_key(q->root);
	out[0] = root ^ hash_bytes(q->path, strlen(q->path));
	out[1] = ~(root ^ hash_bytes(q->path, beginning(q->path)));
}

/* Takes the descriptor of a reply, or *@copy if there is a copy. Returns it, or -errno. */
static int take(struct role_exchange *x, int *copy, struct regular_file_info *out)
{
	struct role_reply *reply = role_exchange_reply(x);
	struct regular_file_info info;
	int fd;

	if (reply->result < 0)
		return reply->result;
	if (reply->len != sizeof(struct open_reply))
		return -EBADMSG;
	memcpy(&info, reply->data, sizeof(info));
	if (reply->n_fds != !info.is_copy ||
	    (info.is_copy && role_memfd_accept(*copy, (size_t)info.st.st_size) < 0))
		return -EBADMSG;
	*out = info;
	if (info.is_copy)
		return steal_fd(copy);
	fd = reply->fds[0];
	reply->fds[0] = -1;
	return fd;
}

/* Sends a request whose second descriptor is for a copy, which belongs to the caller. */
static int call(struct role_pool *pool, const struct role_request *request, int *copy,
		struct regular_file_info *out)
{
	_cleanup_(role_exchange_endp) struct role_exchange *x = NULL;
	int r;

	if (role_pool_call(pool, request, &x) < 0)
		return -ETIMEDOUT;
	r = take(x, copy, out);
	if (r == -EBADMSG)
		role_exchange_reject(x);
	return r == -EBADMSG ? -EIO : r;
}

static int find(void *ctx, const struct regular_file_query *q, struct regular_file_info *out)
{
	size_t path_len = strlen(q->path) + 1, len = sizeof(struct open_request) + path_len;
	_cleanup_(freep) struct open_request *body = NULL;
	struct role_request request = { .kind = OPENER_OPEN,
					.timeout_ms = TIMEOUT_MS,
					.is_urgent = true };
	int fds[2], copy, r;

	if (path_len > OPEN_PATH_MAX)
		return -ENAMETOOLONG;
	body = calloc(1, len);
	copy = body ? role_memfd_lend() : -ENOMEM;
	if (copy < 0)
		return copy;
	body->copy_max = q->copy_max ? q->copy_max : copy_bytes;
	body->has_root = q->root >= 0;
	body->nofollow = q->nofollow;
	body->is_user = q->user != 0;
	body->is_of_proc = q->is_of_proc;
	memcpy(body->path, q->path, path_len);
	request.data = body;
	request.len = len;
	fds[0] = q->root;
	fds[body->has_root] = copy;
	request.fds = fds;
	request.n_fds = body->has_root + 1;
	request.owner = q->user;
	choose_payers(q, request.payers);
	r = call(ctx, &request, &copy, out);
	if (copy >= 0)
		role_memfd_reclaim(copy);
	return r;
}

/* Failures are charged to the process and its user. */
static void choose_payers_of_process(uint32_t pid, struct role_request *request)
{
	request->owner = proc_user_of(pid);
	request->payers[0] = hash_bytes(&pid, sizeof(pid));
	request->payers[1] = ~hash_bytes(&request->owner, sizeof(request->owner));
}

/* Reads at most ROLE_BODY_MAX bytes. */
static int read_piece(struct role_pool *pool, const struct memory_request *m, void *dst)
{
	_cleanup_(role_exchange_endp) struct role_exchange *x = NULL;
	struct role_request request = {
		.kind = OPENER_READ,
		.data = m,
		.len = sizeof(*m),
		.timeout_ms = READ_TIMEOUT_MS,
		.is_urgent = true,
	};
	struct role_reply *reply;

	choose_payers_of_process(m->pid, &request);
	if (role_pool_call(pool, &request, &x) < 0)
		return -ETIMEDOUT;
	reply = role_exchange_reply(x);
	if (reply->result < 0)
		return reply->result;
	if (reply->len != m->len) {
		role_exchange_reject(x);
		return -EIO;
	}
	memcpy(dst, reply->data, m->len);
	return 0;
}

static int read_memory(void *ctx, uint32_t pid, uint64_t addr, void *dst, size_t len)
{
	size_t at = 0;
	int r = 0;

	while (r == 0 && at < len) {
		struct memory_request m = { .pid = pid, .addr = addr + at };

		m.len = (uint32_t)(len - at < ROLE_BODY_MAX ? len - at : ROLE_BODY_MAX);
		r = read_piece(ctx, &m, (char *)dst + at);
		at += m.len;
	}
	return r;
}

/* The mappings of a reply, which outlive its exchange. */
struct listed_maps {
	void *copy;          /* NULL, or owns the bytes */
	struct role_memfd m; /* maps them otherwise */
	int fd;
};

static void listed_maps_fini(struct listed_maps *l)
{
	free(l->copy);
	if (l->fd >= 0)
		role_memfd_unmap(&l->m);
	closep(&l->fd);
}

static int ignore_map(void *ctx, const struct proc_map *m)
{
	(void)ctx;
	(void)m;
	return 0;
}

/* Takes the bytes of a reply. Return: 0; -EBADMSG if they are invalid; -errno. */
static int take_maps(struct role_reply *reply, struct listed_maps *out)
{
	int r = 0;

	if (reply->n_fds) {
		r = role_memfd_map(&out->m, reply->fds[0], MAPS_BYTES_MAX);
		if (r < 0)
			return r;
		out->fd = reply->fds[0];
		reply->fds[0] = -1;
	} else if (reply->len) {
		out->copy = malloc(reply->len);
		if (!out->copy)
			return -ENOMEM;
		memcpy(out->copy, reply->data, reply->len);
		out->m = (struct role_memfd){ .data = out->copy, .len = reply->len };
	}
	return maps_message_read(out->m.data, out->m.len, ignore_map, NULL);
}

/* The exchange ends before @fn runs, which may call the opener as well. */
static int read_maps(void *pool, int pid, enum proc_maps_filter filter, proc_maps_fn fn, void *ctx)
{
	_cleanup_(listed_maps_fini) struct listed_maps maps = { .fd = -1 };
	const struct maps_request m = { .pid = (uint32_t)pid,
					.filter = filter,
					.bytes_max = maps_bytes };
	struct role_exchange *x;
	struct role_request request = {
		.kind = OPENER_MAPS,
		.data = &m,
		.len = sizeof(m),
		.timeout_ms = MAPS_TIMEOUT_MS,
		.is_urgent = true,
	};
	int r;

	choose_payers_of_process(m.pid, &request);
	if (role_pool_call(pool, &request, &x) < 0)
		return -ETIMEDOUT;
	r = role_exchange_reply(x)->result;
	if (r == 0)
		r = take_maps(role_exchange_reply(x), &maps);
	if (r == -EBADMSG)
		role_exchange_reject(x);
	role_exchange_end(x);
	return r < 0 ? r : maps_message_read(maps.m.data, maps.m.len, fn, ctx);
}

struct resident_call {
	const struct proc_resident_sink *sink;
	int result; /* of the sink */
};

/* After an error of the sink, the rest of the parts is ignored. */
static int on_resident_part(void *ctx, uint32_t kind, const void *data, size_t len)
{
	struct resident_call *c = ctx;

	(void)kind;
	if (c->result == 0)
		c->result = resident_message_read(data, len, c->sink);
	return c->result == -EBADMSG ? -EBADMSG : 0;
}

/* The time grows with what is resident, which does not need the lock of the address space. */
static uint32_t resident_timeout_ms(uint32_t pid)
{
	return RESIDENT_TIMEOUT_MS +
	       (uint32_t)(proc_resident_bytes(pid) >> 30) * RESIDENT_MS_PER_GIB;
}

static int read_resident(void *pool, uint32_t pid, const struct proc_resident_sink *sink)
{
	_cleanup_(role_exchange_endp) struct role_exchange *x = NULL;
	const struct resident_request m = { .pid = pid, .has_mappings = sink->mapping != NULL };
	struct resident_call c = { .sink = sink };
	struct role_request request = {
		.kind = OPENER_RESIDENT,
		.data = &m,
		.len = sizeof(m),
		.timeout_ms = resident_timeout_ms(pid),
		.is_urgent = true,
		.part = on_resident_part,
		.ctx = &c,
	};

	choose_payers_of_process(pid, &request);
	if (role_pool_call(pool, &request, &x) < 0)
		return -ETIMEDOUT;
	return c.result ? c.result : role_exchange_reply(x)->result;
}

/* Return: the number of bytes in @out, which has room for @cap; 0 at the end; -errno. */
static ssize_t read_environ_piece(const struct environ_request *m, char *out, size_t cap)
{
	_cleanup_(role_exchange_endp) struct role_exchange *x = NULL;
	struct role_request request = {
		.kind = OPENER_ENVIRON,
		.data = m,
		.len = sizeof(*m),
		.timeout_ms = READ_TIMEOUT_MS,
		.is_urgent = true,
	};
	struct role_reply *reply;
	size_t len;

	choose_payers_of_process(m->pid, &request);
	if (role_pool_call(openers, &request, &x) < 0)
		return -ETIMEDOUT;
	reply = role_exchange_reply(x);
	if (reply->result < 0)
		return reply->result;
	len = reply->len < cap ? reply->len : cap;
	memcpy(out, reply->data, len);
	return (ssize_t)len;
}

ssize_t opener_read_environ(uint32_t pid, char *out, size_t cap)
{
	size_t len = 0;
	ssize_t n = 1;

	while (n > 0 && len < cap) {
		const struct environ_request m = { .offset = len, .pid = pid };

		n = read_environ_piece(&m, out + len, cap - len);
		len += n > 0 ? (size_t)n : 0;
	}
	return n < 0 && !len ? n : (ssize_t)len;
}

int opener_start(struct err *err)
{
	const struct role_pool_opts opts = { .max_children = OPENERS_MAX,
					     .max_abandoned = ABANDONED_MAX,
					     .max_abandoned_by_owner = ABANDONED_BY_USER_MAX,
					     .memory_bytes = OPEN_COPY_MAX + (8 << 20) };
	int r = openers ? 0 : role_pool_new(&openers, &opener_role, &opts, err);

	if (r == 0) {
		regular_file_set_opener(find, openers);
		proc_memory_set_reader(read_memory, openers);
		proc_maps_set_reader(read_maps, openers);
		proc_resident_set_reader(read_resident, openers);
	}
	return r;
}

void opener_set_limits(const struct opener_limits *l)
{
	copy_bytes = l->copy_bytes < OPEN_COPY_MAX ? l->copy_bytes : OPEN_COPY_MAX;
	maps_bytes = l->maps_bytes < MAPS_BYTES_MAX ? l->maps_bytes : MAPS_BYTES_MAX;
	if (openers)
		role_pool_set_max_abandoned(openers, l->max_abandoned < ABANDONED_MAX
							     ? l->max_abandoned
							     : ABANDONED_MAX);
}

void opener_counters(struct role_counters *out)
{
	*out = (struct role_counters){ 0 };
	if (openers)
		role_pool_counters(openers, out);
}
