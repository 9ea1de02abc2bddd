/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files and the memory are opened once: the descriptor of the memory belongs to one
 * program, and reads of it fail after an exec or exit.
 */
#include "reader/tasks_client.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "lang/tasks/task_readers.h"
#include "proc/stat.h"
#include "reader/reader.h"
#include "reader/tasks_files.h"
#include "reader/tasks_message.h"
#include "roles/pool.h"

enum {
	HEAP_BYTES = 512 << 20, /* a snapshot of TASKS_MAX, and its message */
	GRACE_MS = 2000,        /* to send what was read after the limit */
};

struct tasks_client {
	struct tasks_client_opts opts;
	struct role_pool *pool;
	struct tasks_request request;
	int memory;
	struct tasks_files files;
	uint32_t file; /* the one of files that is the runtime, once a snapshot was read */
	bool is_known;
	struct buf stream;
};

/* ---- a snapshot ------------------------------------------------------------------------------ */

static int on_part(void *ctx, uint32_t kind, const void *data, size_t len)
{
	struct tasks_client *c = ctx;

	(void)kind;
	if (c->stream.len + len > TASKS_STREAM_MAX)
		return -EFBIG;
	buf_put(&c->stream, data, len);
	return buf_error(&c->stream);
}

static int call(struct tasks_client *c, const struct tasks_file *file, struct task_snapshot *out)
{
	const int fds[] = { c->memory, file->fd, c->files.module };
	const struct role_request request = {
		.kind = READER_TASKS,
		.data = &c->request,
		.len = sizeof(c->request),
		.fds = fds,
		.n_fds = c->files.module < 0 ? 2 : 3,
		.timeout_ms = c->opts.limit_ms + GRACE_MS,
		.part = on_part,
		.ctx = c,
	};
	_cleanup_(role_exchange_endp) struct role_exchange *x = NULL;
	int r;

	c->request.runtime = file->runtime;
	c->request.code_addr = file->code_addr;
	c->request.code_off = file->code_off;
	c->stream.len = 0;
	r = role_pool_call(c->pool, &request, &x);
	if (r < 0)
		return r;
	r = role_exchange_reply(x)->result;
	if (r < 0)
		return r;
	r = tasks_message_read(c->stream.data, c->stream.len, out);
	if (r == -EBADMSG)
		role_exchange_reject(x);
	return r;
}

/* True if another file of the process may have tasks, since this one has none. */
static bool has_none(int r)
{
	return r == -ENOENT || r == -ENOEXEC || r == -ENOTSUP || r == -ENODATA;
}

/* Tries the files that may be a runtime; if none has tasks, the first other reason is returned. */
static int call_all(struct tasks_client *c, struct task_snapshot *out)
{
	int first = -ENOENT;

	for (uint32_t i = 0; i < c->files.n; i++) {
		int r = call(c, &c->files.all[i], out);

		if (!has_none(r)) {
			c->is_known = r == 0;
			c->file = i;
			return r;
		}
		if (first == -ENOENT && r != -ENOEXEC) {
			first = r;
			c->file = i;
		}
	}
	return first;
}

static const char *runtime_name(const struct tasks_client *c)
{
	return c->files.all[c->file].runtime == TASK_RUNTIME_GO ? "Go" : "Python";
}

static int explain(const struct tasks_client *c, int r, struct err *err)
{
	uint32_t pid = c->opts.pid;

	switch (r) {
	case -ENOENT:
		return err_set(err, r,
			       "process %u has no runtime whose tasks can be read: expected Go or "
			       "Python",
			       pid);
	case -ENOTSUP:
		return err_set(err, r, "the tasks of this release of %s cannot be read",
			       runtime_name(c));
	case -ENODATA:
		return err_set(err, r, "process %u has no tasks: it has not imported asyncio", pid);
	case -ETIMEDOUT:
		return err_set(err, r, "the memory of process %u did not respond within %u ms", pid,
			       c->opts.limit_ms + GRACE_MS);
	case -EFAULT:
		if (proc_is_alive((int)pid))
			return err_set(err, r, "cannot read the list of tasks of process %u", pid);
		return err_set(err, -ESRCH, "process %u has ended", pid);
	case -EBADMSG:
	case -EPIPE:
		return err_set(err, r, "the reader of process %u failed", pid);
	}
	return err_set(err, r, "cannot read the tasks of process %u: %s", pid, strerror(-r));
}

int tasks_client_read(struct tasks_client *c, struct task_snapshot *out, struct err *err)
{
	int r = c->is_known ? call(c, &c->files.all[c->file], out) : call_all(c, out);

	return r < 0 ? explain(c, r, err) : 0;
}

/* ---- the client ------------------------------------------------------------------------------ */

static int open_memory(struct tasks_client *c, struct err *err)
{
	c->memory = tasks_files_open(c->opts.pid, "mem");
	if (c->memory >= 0)
		return 0;
	return err_set(err, c->memory, "cannot open the memory of process %u: %s", c->opts.pid,
		       strerror(-c->memory));
}

int tasks_client_new(struct tasks_client **out, const struct tasks_client_opts *opts,
		     struct err *err)
{
	const struct role_pool_opts pool = { .max_children = 1, .memory_bytes = HEAP_BYTES };
	_cleanup_(tasks_client_freep) struct tasks_client *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->opts = *opts;
	c->memory = c->files.module = -1;
	c->request = (struct tasks_request){
		.max = opts->max < TASKS_MAX ? opts->max : TASKS_MAX,
		.limit_ms = opts->limit_ms,
	};
	r = tasks_files_find(opts->pid, &c->files, err);
	if (r == 0)
		r = open_memory(c, err);
	if (r == 0)
		r = role_pool_new(&c->pool, &reader_role, &pool, err);
	if (r < 0)
		return r;
	*out = steal_ptr(&c);
	return 0;
}

void tasks_client_free(struct tasks_client *c)
{
	if (!c)
		return;
	role_pool_free(c->pool);
	closep(&c->memory);
	tasks_files_fini(&c->files);
	buf_fini(&c->stream);
	free(c);
}
