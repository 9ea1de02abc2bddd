/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbolizer's side: jobs that read files of other programs and reply with names. No job
 * depends on data that an earlier one left, so the process may be killed at any time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sigbus.h"
#include "roles/role.h"
#include "symbol/demangle.h"
#include "symbol/file.h"
#include "symbol/table_cache.h"
#include "symbol/worker.h"
#include "symbol/worker_files.h"
#include "symbol/worker_resolve.h"

enum {
	DEBUG_SHARE = 2,     /* of the heap, for debug information */
	DEMANGLED_SHARE = 8, /* of the memory for symbol tables, for demangled names */
};

struct worker {
	struct role_call *call; /* the job that runs */
	struct worker_files *files;
	struct demangle *demangle;
	enum demangle_mode mode;
	struct buf part;
	struct protocol_done done;
};

/* ---- what a job sends ---------------------------------------------------------------- */

/* Requests a file from the parent. Returns its descriptor or -errno. */
static int request_file(void *ctx, const struct protocol_need *need)
{
	_cleanup_(buf_fini) struct buf body = { 0 };
	struct worker *w = ctx;
	int fd, r;

	protocol_put_need(&body, need);
	if (buf_error(&body))
		return -ENOMEM;
	r = role_call_question(w->call, need->kind, body.data, body.len, &fd);
	if (r < 0 || fd < 0) {
		closep(&fd);
		return r < 0 ? r : -ENOENT;
	}
	return fd;
}

static void flush(struct worker *w)
{
	if (w->part.len)
		(void)role_call_part(w->call, PROTOCOL_FRAMES, w->part.data, w->part.len);
	w->part.len = 0;
}

/* Appends the frames of one address. If they do not fit, the part so far is sent first. */
static void put_response(void *ctx, const struct protocol_response *r)
{
	struct worker *w = ctx;

	if (protocol_put_response(&w->part, r))
		return;
	flush(w);
	(void)protocol_put_response(&w->part, r);
}

/* ---- cached tables ------------------------------------------------------------------- */

static int get_table(void *ctx, const char *name)
{
	const struct protocol_need need = { .kind = PROTOCOL_NEED_TABLE, .name = name, .dir = "" };

	return request_file(ctx, &need);
}

/* Adds the table to the reply. */
static void put_table(void *ctx, const char *name, int fd)
{
	struct worker *w = ctx;
	struct protocol_done *d = &w->done;

	if (d->n_tables == PROTOCOL_TABLES_MAX) {
		close(fd);
		return;
	}
	strncpy(d->tables[d->n_tables], name, PROTOCOL_TABLE_NAME_MAX - 1);
	d->n_tables++;
	w->call->reply_fds[w->call->n_reply_fds++] = fd;
}

/* ---- jobs ---------------------------------------------------------------------------- */

struct job {
	struct worker *w;
	const struct protocol_request *request;
	struct worker_file *f;
};

/* Returns the job's request, or NULL, and begins the use of its file. */
static int begin(struct job *j, struct role_call *call, const struct table_cache *cache)
{
	j->w = call->state;
	j->w->call = call;
	j->request = protocol_check_request(call->request, call->request_len);
	if (!j->request || call->n_fds != 1)
		return -EINVAL;
	j->f = worker_files_get(j->w->files, j->request->config.key);
	if (!j->f)
		return -ENOMEM;
	symbol_file_use(worker_file_own(j->f), call->fds[0], cache);
	return 0;
}

static int open_job(struct role_call *call)
{
	struct protocol_facts *facts = call->reply;
	struct job j = { 0 };
	int r = begin(&j, call, NULL);

	if (r < 0)
		return r;
	symbol_file_facts(worker_file_own(j.f), facts);
	call->reply_len = sizeof(*facts);
	symbol_file_idle(worker_file_own(j.f));
	return 0;
}

/* The mode is the same in all requests of one parent. */
static int use_demangler(struct worker *w, enum demangle_mode mode)
{
	if (w->demangle && w->mode == mode)
		return 0;
	demangle_free(w->demangle);
	w->demangle = NULL;
	w->mode = mode;
	return demangle_new(&w->demangle, mode);
}

static int resolve(void *ctx)
{
	struct job *j = ctx;
	struct worker *w = j->w;
	const struct protocol_config *c = &j->request->config;
	const struct worker_resolve_opts opts = {
		.files = w->files,
		.demangle = w->demangle,
		.put = put_response,
		.ctx = w,
		.tables_only = c->flags & PROTOCOL_TABLES_ONLY,
		.name_all = c->flags & PROTOCOL_NAME_ALL,
		.debug_version = c->debug_version,
	};

	worker_resolve(&opts, j->f, j->request->addrs, c->n_addrs);
	if (!opts.tables_only)
		w->done.has_debug = worker_file_open_debug(w->files, j->f, opts.debug_version) ||
				    symbol_file_has_dwarf(worker_file_own(j->f));
	return 0;
}

static int resolve_job(struct role_call *call)
{
	struct table_cache cache = { .get = get_table, .put = put_table, .ctx = call->state };
	const struct protocol_request *q = protocol_check_request(call->request, call->request_len);
	struct job j = { 0 };
	int r;

	if (!q)
		return -EINVAL;
	memcpy(cache.key.bytes, q->config.cache_key, sizeof(cache.key.bytes));
	r = begin(&j, call, q->config.flags & PROTOCOL_CACHE ? &cache : NULL);
	if (r == 0)
		r = use_demangler(j.w, (enum demangle_mode)q->config.demangle);
	if (r < 0)
		return r;
	memset(&j.w->done, 0, sizeof(j.w->done));
	j.w->part.len = 0;
	(void)sigbus_run(resolve, &j); /* a file that shrinks has fewer names */
	flush(j.w);
	worker_files_end(j.w->files, j.f, q->config.table_bytes);
	demangle_trim(j.w->demangle, q->config.table_bytes / DEMANGLED_SHARE);
	j.w->done.table_bytes = worker_files_table_bytes(j.w->files);
	memcpy(call->reply, &j.w->done, sizeof(j.w->done));
	call->reply_len = sizeof(j.w->done);
	return 0;
}

static int init(size_t memory_bytes, void **out_state)
{
	struct worker *w = calloc(1, sizeof(*w));

	*out_state = w;
	return w ? worker_files_new(&w->files, memory_bytes / DEBUG_SHARE, request_file, w)
		 : -ENOMEM;
}

static const struct role_job jobs[] = {
	{ PROTOCOL_OPEN, sizeof(struct protocol_config), open_job },
	{ PROTOCOL_RESOLVE, sizeof(struct protocol_config), resolve_job },
};

const struct role symbolizer_role = {
	.name = "cameo-symbolizer",
	.sandbox = SANDBOX_READER,
	.jobs = jobs,
	.n_jobs = sizeof(jobs) / sizeof(*jobs),
	.init = init,
};

void symbol_worker_main(int argc, char **argv)
{
	const struct role *const roles[] = { &symbolizer_role };

	role_main(argc, argv, roles, 1);
}
