/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/heap_client.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "codec/common/limits.h"
#include "codec/pprof/pprof.h"
#include "lang/heap/golang_heap.h"
#include "proc/stat.h"
#include "profile/profile.h"
#include "reader/heap_message.h"
#include "reader/reader.h"
#include "reader/tasks_files.h"
#include "roles/pool.h"

enum {
	MEMORY_BYTES = 512 << 20, /* of the reader */
	LIMIT_MS = 10000,         /* of reading, after which the profile is incomplete */
	GRACE_MS = 10000,         /* to send what was read after the limit */
};

static int explain(uint32_t pid, int r, struct err *err)
{
	switch (r) {
	case -ENOENT:
		return err_set(err, r, "process %u is not a Go program", pid);
	case -ENODATA:
		return err_set(
			err, r,
			"process %u has no heap profile: Go's linker disables it in programs "
			"that cannot reach runtime.MemProfile() (import runtime/pprof or "
			"net/http/pprof); use --memory=resident",
			pid);
	case -ENOTSUP:
		return err_set(err, r,
			       "cannot find the heap profile of process %u: expected Go 1.18 or "
			       "later, built by the standard toolchain",
			       pid);
	case -ELOOP:
		return err_set(err, r, "the list of heap records of process %u is circular", pid);
	case -ETIMEDOUT:
		return err_set(err, r, "the memory of process %u did not respond within %d s", pid,
			       (LIMIT_MS + GRACE_MS) / 1000);
	case -EFAULT:
		if (proc_is_alive((int)pid))
			return err_set(err, r, "cannot read the heap profile of process %u", pid);
		return err_set(err, -ESRCH, "process %u has ended", pid);
	case -EBADMSG:
	case -EPIPE:
		return err_set(err, r, "the reader of process %u failed", pid);
	}
	return err_set(err, r, "cannot read the heap profile of process %u: %s", pid, strerror(-r));
}

static int on_part(void *ctx, uint32_t kind, const void *data, size_t len)
{
	struct buf *stream = ctx;

	(void)kind;
	buf_put(stream, data, len);
	return buf_error(stream);
}

/* The reply is untrusted: a reader that has read the memory may be compromised. */
static int read_reply(const struct role_reply *reply, const struct buf *stream,
		      struct profile **out, struct golang_heap_counts *counts)
{
	struct codec_limits limits = codec_limits_default();

	if (reply->len != sizeof(*counts))
		return -EBADMSG;
	memcpy(counts, reply->data, sizeof(*counts));
	if (counts->version[sizeof(counts->version) - 1] || counts->is_cut > 1 ||
	    counts->is_published > 1 || counts->n_records > GOLANG_HEAP_RECORDS_MAX ||
	    counts->n_changed > counts->n_records)
		return -EBADMSG;
	limits.bytes = HEAP_STREAM_MAX;
	limits.samples = GOLANG_HEAP_RECORDS_MAX;
	return pprof_read(out, stream->data, stream->len, &limits, NULL);
}

static int call(struct role_pool *pool, const struct heap_request *q, const int fds[2],
		struct profile **out, struct golang_heap_counts *counts)
{
	_cleanup_(buf_fini) struct buf stream = { .max = HEAP_STREAM_MAX };
	const struct role_request request = {
		.kind = READER_HEAP,
		.data = q,
		.len = sizeof(*q),
		.fds = fds,
		.n_fds = 2,
		.timeout_ms = LIMIT_MS + GRACE_MS,
		.part = on_part,
		.ctx = &stream,
	};
	_cleanup_(role_exchange_endp) struct role_exchange *x = NULL;
	int r = role_pool_call(pool, &request, &x);

	if (r < 0)
		return r;
	r = role_exchange_reply(x)->result;
	if (r < 0)
		return r;
	r = read_reply(role_exchange_reply(x), &stream, out, counts);
	if (r < 0)
		role_exchange_reject(x);
	return r;
}

static int open_file(uint32_t pid, const char *name, const char *what, struct err *err)
{
	int fd = tasks_files_open(pid, name);

	return fd >= 0 ? fd
		       : err_set(err, fd, "cannot open the %s of process %u: %s", what, pid,
				 strerror(-fd));
}

int heap_client_read(uint32_t pid, struct profile **out, struct golang_heap_counts *counts,
		     struct err *err)
{
	const struct role_pool_opts opts = { .max_children = 1, .memory_bytes = MEMORY_BYTES };
	const struct heap_request q = { .code_addr = proc_start_code((int)pid),
					.limit_ms = LIMIT_MS };
	_cleanup_(role_pool_freep) struct role_pool *pool = NULL;
	_cleanup_(closep) int program = open_file(pid, "exe", "program", err);
	_cleanup_(closep) int memory = program < 0 ? -1 : open_file(pid, "mem", "memory", err);
	const int fds[] = { memory, program };
	int r;

	if (program < 0 || memory < 0)
		return program < 0 ? program : memory;
	if (!q.code_addr)
		return err_set(err, -EACCES, "cannot read where process %u has its code", pid);
	r = role_pool_new(&pool, &reader_role, &opts, err);
	if (r < 0)
		return r;
	r = call(pool, &q, fds, out, counts);
	return r < 0 ? explain(pid, r, err) : 0;
}
