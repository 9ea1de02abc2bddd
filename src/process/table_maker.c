/* SPDX-License-Identifier: Apache-2.0 */
#include "process/table_maker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/vec.h"
#include "bpf/shared/abi.h"
#include "process/mapped_file.h"
#include "reader/table_client.h"
#include "symbol/debugfile.h"
#include "unwind/tables.h"

enum {
	/* CPU time for one table. A browser of 300 MB takes 0.4 s. */
	TABLE_CPU_MS = 10000,
	/* Total time after which a reader counts as hanging, rather than waiting for a CPU. */
	TABLE_MS = 120000,
	RETRY_DOUBLINGS = 8, /* of one second */
};

struct table_maker {
	struct table_maker_opts opts;
	struct table_client *client;
	struct {
		VEC(uint32_t);
	} failed; /* files that are tried again */
	uint64_t n_failed;
};

static struct mapped_file *find(const struct table_maker *m, uint32_t id)
{
	return m->opts.find(m->opts.ctx, id);
}

static uint16_t state_of(const struct table_maker *m, uint32_t id)
{
	return unwind_tables_file(m->opts.tables, id)->state;
}

/* ---- for the reader --------------------------------------------------------- */

static int open_file(void *ctx, uint32_t id)
{
	const struct mapped_file *file = find(ctx, id);

	return file ? file->info.fd : -1;
}

/*
 * Opens a candidate for the separate debug file of a file, below its process's root or the host's.
 * The one that was opened early comes first.
 */
static int open_debug_file(void *ctx, uint32_t id, const struct table_need *need)
{
	const struct table_maker *m = ctx;
	const struct mapped_file *file = find(m, id);
	struct debugfile_query query = { .link = need->link };
	unsigned int n_early;

	if (!file)
		return -ERANGE;
	n_early = file->info.debug_fd >= 0;
	if (need->attempt < n_early)
		return fcntl(file->info.debug_fd, F_DUPFD_CLOEXEC, 0);
	query.roots =
		(struct debugfile_roots){ file->info.root_fd, m->opts.own_root, file->info.user };
	query.path = file->info.path;
	query.build_id = file->info.build_id;
	return debugfile_open_candidate(&query, need->attempt - n_early);
}

/* ---- results ---------------------------------------------------------------- */

/* Returns true for the result of a file that has no table, rather than of a failure. */
static bool has_no_table(int result)
{
	return result == -ENOEXEC || result == -E2BIG || result == -ENOENT || result == -EFAULT;
}

/*
 * A file whose table was made, but whose code without CFI could not be analysed, keeps the table.
 */
static void note_failure(struct table_maker *m, uint32_t id, int result)
{
	struct mapped_file *file = find(m, id);
	uint32_t n = file->n_failures++;

	m->n_failed++;
	if (state_of(m, id) == FILE_TABLE_UNSWEPT) {
		unwind_tables_give_up_sweep(m->opts.tables, id);
		return;
	}
	unwind_tables_set_failed(m->opts.tables, id, result == -ENOMEM);
	n = n < RETRY_DOUBLINGS ? n : RETRY_DOUBLINGS;
	file->retry_ns = clock_monotonic_ns() + (CLOCK_SECOND_NS << n);
	(void)vec_push(&m->failed, id);
}

static void note_absence(struct table_maker *m, uint32_t id)
{
	if (state_of(m, id) == FILE_TABLE_UNSWEPT)
		unwind_tables_give_up_sweep(m->opts.tables, id);
	else
		unwind_tables_set_absent(m->opts.tables, id);
}

static void on_table(void *ctx, uint32_t id, int result, const struct flat_table *table)
{
	struct table_maker *m = ctx;
	struct mapped_file *file = find(m, id);

	if (result < 0 && !has_no_table(result)) {
		note_failure(m, id, result);
		return;
	}
	file->n_failures = 0;
	if (!table)
		note_absence(m, id);
	else if (unwind_tables_put(m->opts.tables, id, mapped_file_owner(file), table,
				   clock_monotonic_ns(), NULL) < 0 &&
		 state_of(m, id) == FILE_TABLE_NOT_READY)
		unwind_tables_set_absent(m->opts.tables, id);
}

/* ---- requests --------------------------------------------------------------- */

int table_maker_new(struct table_maker **out, const struct table_maker_opts *opts)
{
	_cleanup_(table_maker_freep) struct table_maker *m = calloc(1, sizeof(*m));
	struct table_client_opts client = {
		.pool = opts->readers,
		.n_readers = opts->n_readers,
		.table_bytes = opts->table_bytes,
		.timeout_ms = TABLE_MS,
		.cpu_ms = TABLE_CPU_MS,
		.open = open_file,
		.open_debug = open_debug_file,
		.done = on_table,
	};
	int r;

	if (!m)
		return -ENOMEM;
	m->opts = *opts;
	client.ctx = m;
	r = table_client_new(&m->client, &client);
	if (r == 0)
		*out = steal_ptr(&m);
	return r;
}

void table_maker_free(struct table_maker *m)
{
	if (!m)
		return;
	table_client_free(m->client);
	vec_fini(&m->failed);
	free(m);
}

static bool wait_for(struct table_maker *m, uint32_t id, uint64_t until_ns)
{
	while (table_maker_is_pending(m, id)) {
		uint64_t now_ns = clock_monotonic_ns();

		if (now_ns >= until_ns)
			return false;
		table_maker_poll(m, (unsigned int)((until_ns - now_ns) / CLOCK_MS_NS) + 1);
	}
	return true;
}

bool table_maker_need(struct table_maker *m, uint32_t id, uint64_t until_ns)
{
	const struct mapped_file *file = find(m, id);
	struct fair_request request = { .file = id };
	uint16_t state;
	int r;

	if (!file)
		return true;
	state = state_of(m, id);
	if (state != FILE_TABLE_NOT_READY && state != FILE_TABLE_UNSWEPT)
		return true;
	if (table_maker_is_pending(m, id))
		return false;
	request.owner = mapped_file_owner(file);
	request.sweep_all = state == FILE_TABLE_UNSWEPT;
	if (!file->info.is_elf) {
		note_absence(m, id);
		return true;
	}
	r = table_client_request(m->client, &request);
	if (r < 0)
		note_failure(m, id, r);
	return wait_for(m, id, until_ns);
}

bool table_maker_is_pending(const struct table_maker *m, uint32_t id)
{
	return table_client_is_pending(m->client, id);
}

void table_maker_poll(struct table_maker *m, unsigned int wait_ms)
{
	table_client_poll(m->client, wait_ms);
}

int table_maker_fd(const struct table_maker *m)
{
	return table_client_fd(m->client);
}

/* A walk that needs the table requests it again. */
void table_maker_retry(struct table_maker *m, uint64_t now_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->failed.len; i++) {
		uint32_t id = m->failed.data[i];

		if (find(m, id)->retry_ns <= now_ns)
			unwind_tables_drop(m->opts.tables, id, now_ns);
		else
			m->failed.data[kept++] = id;
	}
	m->failed.len = kept;
}

void table_maker_forget(struct table_maker *m, uint32_t id)
{
	size_t kept = 0;

	table_client_cancel(m->client, id);
	for (size_t i = 0; i < m->failed.len; i++)
		if (m->failed.data[i] != id)
			m->failed.data[kept++] = m->failed.data[i];
	m->failed.len = kept;
}

uint64_t table_maker_n_failed(const struct table_maker *m)
{
	return m->n_failed;
}
