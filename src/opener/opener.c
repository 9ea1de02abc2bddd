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
#include "opener/memory_job.h"
#include "opener/open_job.h"
#include "opener/open_message.h"
#include "proc/memory.h"
#include "proc/user.h"
#include "roles/pool.h"
#include "roles/role.h"

enum {
	OPENERS_MAX = 2,
	ABANDONED_MAX = 16,
	TIMEOUT_MS = 500, /* an open takes microseconds, but loaded machines need more */
	READ_TIMEOUT_MS = 200,
	OWNER_COMPONENTS = 2,
};

/* One for the process, like what regular_file_find() does; never freed. */
static struct role_pool *openers;

static const struct role_job jobs[] = {
	{ OPENER_OPEN, sizeof(struct open_request) + 1, open_job },
	{ OPENER_READ, sizeof(struct memory_request), memory_job },
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

	if (root < 0 || statx(root, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &st) < 0)
		return 1;
	return st.stx_ino * 31 + ((uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor) + 2;
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

/* Takes the descriptor of a reply. Returns it, or -errno. */
static int take(struct role_exchange *x, struct regular_file_info *out)
{
	struct role_reply *reply = role_exchange_reply(x);
	int fd;

	if (reply->result < 0)
		return reply->result;
	if (reply->len != sizeof(struct open_reply) || reply->n_fds != 1) {
		role_exchange_reject(x);
		return -EIO;
	}
	memcpy(out, reply->data, sizeof(*out));
	fd = reply->fds[0];
	reply->fds[0] = -1;
	return fd;
}

static int find(void *ctx, const struct regular_file_query *q, struct regular_file_info *out)
{
	size_t path_len = strlen(q->path) + 1, len = sizeof(struct open_request) + path_len;
	_cleanup_(freep) struct open_request *body = NULL;
	_cleanup_(role_exchange_endp) struct role_exchange *x = NULL;
	struct role_request request = { .kind = OPENER_OPEN, .timeout_ms = TIMEOUT_MS };
	int r;

	if (path_len > OPEN_PATH_MAX)
		return -ENAMETOOLONG;
	body = calloc(1, len);
	if (!body)
		return -ENOMEM;
	body->copy_max = q->copy_max ? q->copy_max : (size_t)OPEN_COPY_MAX;
	body->has_root = q->root >= 0;
	body->nofollow = q->nofollow;
	memcpy(body->path, q->path, path_len);
	request.data = body;
	request.len = len;
	request.fds = &q->root;
	request.n_fds = q->root >= 0;
	choose_payers(q, request.payers);
	r = role_pool_call(ctx, &request, &x);
	if (r < 0)
		return -ETIMEDOUT;
	return take(x, out);
}

/* Failures are charged to the process and its user. */
static void choose_payers_of_process(uint32_t pid, uint64_t out[ROLE_PAYERS])
{
	struct stat st = { 0 };
	char path[24];

	snprintf(path, sizeof(path), "/proc/%u", pid);
	(void)stat(path, &st);
	out[0] = hash_bytes(&pid, sizeof(pid));
	out[1] = ~hash_bytes(&st.st_uid, sizeof(st.st_uid));
}

/* Reads at most ROLE_BODY_MAX bytes. */
static int read_piece(struct role_pool *pool, const struct memory_request *m, void *dst)
{
	_cleanup_(role_exchange_endp) struct role_exchange *x = NULL;
	struct role_request request = {
		.kind = OPENER_READ, .data = m, .len = sizeof(*m), .timeout_ms = READ_TIMEOUT_MS
	};
	struct role_reply *reply;

	choose_payers_of_process(m->pid, request.payers);
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

int opener_start(struct err *err)
{
	const struct role_pool_opts opts = { .max_children = OPENERS_MAX,
					     .max_abandoned = ABANDONED_MAX,
					     .memory_bytes = OPEN_COPY_MAX + (8 << 20) };
	int r = openers ? 0 : role_pool_new(&openers, &opener_role, &opts, err);

	if (r == 0) {
		regular_file_set_opener(find, openers);
		proc_memory_set_reader(read_memory, openers);
	}
	return r;
}

void opener_counters(struct role_counters *out)
{
	*out = (struct role_counters){ 0 };
	if (openers)
		role_pool_counters(openers, out);
}
