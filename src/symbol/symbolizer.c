/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch is resolved by one request. For addresses without a name in the worker, this process
 * makes a name that shows the reason.
 */
#include "symbol/symbolizer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/siphash.h"
#include "symbol/debugfile.h"
#include "symbol/debuginfod.h"
#include "symbol/facts.h"
#include "symbol/file_set.h"
#include "symbol/symbol_cache.h"
#include "symbol/worker.h"

enum { DEFAULT_MEMORY = 64 << 20 };

struct symbolizer {
	struct symbolizer_opts opts;
	struct symbol_worker *worker;
	struct debuginfod *debuginfod; /* NULL: not configured */
	struct symbol_cache *cache;    /* NULL: not configured, or unusable */
	int host_root;
	struct file_set files;
	const struct file_set_entry *current; /* the file of the request in flight */
	struct symbolizer_counters counters;
	char confinement[256];
};

const char *symbolizer_source_label(enum symbolizer_source s)
{
	static const char *const labels[] = {
		[SYMBOLIZER_UNNAMED] = "unnamed",    [SYMBOLIZER_GO] = "gopclntab",
		[SYMBOLIZER_SYMTAB] = "symtab",      [SYMBOLIZER_DWARF] = "dwarf",
		[SYMBOLIZER_DEBUG_SYMTAB] = "debug", [SYMBOLIZER_DYNSYM] = "dynsym",
		[SYMBOLIZER_GIVEN_UP] = "given_up",
	};

	return s < SYMBOLIZER_SOURCE_MAX ? labels[s] : "unknown";
}

/* The worker parses the file, as it does all others. */
static bool has_build_id(void *ctx, int fd, const struct elf_build_id *id)
{
	const struct symbolizer_file in = { .fd = fd, .root_fd = -1, .debug_fd = -1, .path = "" };
	const struct symbol_facts *facts;
	struct symbolizer *s = ctx;
	uint32_t file;
	bool same;

	if (symbolizer_add_file(s, &in, &file) < 0)
		return false;
	facts = symbolizer_facts(s, file);
	same = facts && facts->build_id.len == id->len &&
	       !memcmp(facts->build_id.bytes, id->bytes, id->len);
	symbolizer_release_file(s, file);
	return same;
}

/* If the cache directory cannot be opened, downloads are not cached. */
static void start_debuginfod(struct symbolizer *s)
{
	struct debuginfod_opts opts = {
		.fetcher = s->opts.fetcher,
		.urls = s->opts.debuginfod,
		.cache_dir = s->opts.debuginfod_cache,
		.cache_bytes = s->opts.debuginfod_cache_bytes,
		.timeout_ms = s->opts.debuginfod_timeout_ms,
		.has_build_id = has_build_id,
		.ctx = s,
	};

	if (!opts.urls || !opts.fetcher || s->opts.no_dwarf)
		return;
	if (debuginfod_new(&s->debuginfod, &opts, NULL) == 0)
		return;
	opts.cache_dir = NULL;
	(void)debuginfod_new(&s->debuginfod, &opts, NULL);
}

static int need_file(void *ctx, const struct protocol_need *need);
static void store_table(void *ctx, const char *name, int fd);

int symbolizer_new(struct symbolizer **out, const struct symbolizer_opts *opts)
{
	struct symbolizer *s = calloc(1, sizeof(*s));
	struct symbol_worker_opts worker = {
		.memory_bytes = opts->worker_memory_bytes,
		.timeout_ms = opts->timeout_ms,
		.until_ns = opts->until_ns,
		.need = need_file,
		.store = store_table,
		.ctx = s,
	};

	if (!s)
		return -ENOMEM;
	s->opts = *opts;
	if (!s->opts.memory_bytes)
		s->opts.memory_bytes = DEFAULT_MEMORY;
	s->host_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (symbol_worker_new(&s->worker, &worker) < 0) {
		symbolizer_free(s);
		return -ENOMEM;
	}
	if (opts->symbol_cache) /* If it cannot be opened, tables are not cached. */
		(void)symbol_cache_open(&s->cache, opts->symbol_cache, opts->symbol_cache_bytes,
					NULL);
	start_debuginfod(s);
	*out = s;
	return 0;
}

void symbolizer_free(struct symbolizer *s)
{
	if (!s)
		return;
	symbol_worker_free(s->worker);
	debuginfod_free(s->debuginfod);
	file_set_fini(&s->files);
	symbol_cache_free(s->cache);
	closep(&s->host_root);
	free(s);
}

void symbolizer_release_file(struct symbolizer *s, uint32_t id)
{
	file_set_release(&s->files, id);
}

int symbolizer_add_file(struct symbolizer *s, const struct symbolizer_file *in, uint32_t *out_id)
{
	return file_set_add(&s->files, in, out_id);
}

/* ---- what the worker requests ---------------------------------------------------------- */

/* Candidate 0 was passed by the caller or downloaded; the others are at known places. */
static int open_debug_candidate(const struct symbolizer *s, const struct debugfile_query *query,
				uint32_t attempt)
{
	if (attempt)
		return debugfile_open_candidate(query, attempt - 1);
	return s->current->debug_fd < 0 ? -ENOENT : fcntl(s->current->debug_fd, F_DUPFD_CLOEXEC, 0);
}

/* Opens a file that the worker needs, which cannot open files itself. */
static int need_file(void *ctx, const struct protocol_need *need)
{
	struct symbolizer *s = ctx;
	struct debugfile_query query = {
		.roots = { .process = s->current->root_fd,
			   .host = s->host_root,
			   .user = s->current->user },
		.path = s->current->path,
		.link = need->name,
	};

	if (need->id_len <= ELF_BUILD_ID_MAX) {
		query.build_id.len = (uint8_t)need->id_len;
		memcpy(query.build_id.bytes, need->id, need->id_len);
	}
	switch (need->kind) {
	case PROTOCOL_NEED_DEBUG:
		return open_debug_candidate(s, &query, need->attempt);
	case PROTOCOL_NEED_ALT:
		return debugfile_open_alt_candidate(&query, need->name, need->attempt);
	case PROTOCOL_NEED_DWO:
		return debugfile_open_dwo(&query, need->name, need->dir);
	case PROTOCOL_NEED_DWP:
		return debugfile_open_dwp(&query);
	case PROTOCOL_NEED_TABLE:
		return s->cache ? symbol_cache_get(s->cache, need->name) : -ENOENT;
	default:
		return -EINVAL;
	}
}

static void store_table(void *ctx, const char *name, int fd)
{
	struct symbolizer *s = ctx;

	if (s->cache)
		(void)symbol_cache_put(s->cache, name, fd);
}

static struct symbol_worker_query query_of(struct symbolizer *s, struct file_set_entry *f)
{
	struct symbol_worker_query q = {
		.config = { .key = f->key,
			    .table_bytes = s->opts.memory_bytes,
			    .demangle = s->opts.demangle,
			    .debug_version = f->debug_version },
		.fd = f->fd,
		.trust = &f->trust,
	};

	if (s->opts.no_dwarf)
		q.config.flags |= PROTOCOL_TABLES_ONLY;
	if (s->opts.name_all)
		q.config.flags |= PROTOCOL_NAME_ALL;
	if (s->cache) {
		q.config.flags |= PROTOCOL_CACHE;
		memcpy(q.config.cache_key, symbol_cache_key(s->cache)->bytes,
		       sizeof(q.config.cache_key));
	}
	s->current = f;
	return q;
}

/* ---- batches --------------------------------------------------------------------------- */

/* Returns 0, or as symbol_worker_open(). */
static int load_facts(struct symbolizer *s, struct file_set_entry *f)
{
	struct symbol_worker_query q = query_of(s, f);
	struct protocol_facts facts;
	int r;

	if (f->facts)
		return 0;
	r = symbol_worker_open(s->worker, &q, &facts);
	if (r < 0)
		return r;
	f->facts = symbol_facts_new(&facts);
	return f->facts ? 0 : -ENOMEM;
}

const struct symbol_facts *symbolizer_facts(struct symbolizer *s, uint32_t id)
{
	struct file_set_entry *f = file_set_get(&s->files, id);

	return f && load_facts(s, f) == 0 ? f->facts : NULL;
}

/* One call of symbolizer_resolve(). Arrays have one element per address. */
struct batch {
	struct symbolizer *s;
	struct file_set_entry *f;
	const uint64_t *addrs;
	uint64_t *vaddrs; /* of the request to the worker */
	size_t *index;    /* of each address in the request, that in @addrs */
	size_t n_vaddrs;
	bool *done;
	size_t n;
	symbol_frames_fn fn;
	void *ctx;
};

static int report(struct batch *b, size_t i, enum symbolizer_source source,
		  const struct symbol_frame *frames, size_t n)
{
	b->done[i] = true;
	b->s->counters.by_source[source]++;
	return b->fn(b->ctx, i, frames, n);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Reports an address without a symbol, with a name that shows the reason. */
static int report_missing(struct batch *b, size_t i, enum symbol_missing why, uint64_t start)
{
	const char *file = base_name(b->f->path);
	char name[320];
	const struct symbol_frame frame = {
		.name = name,
		.system_name = name,
		.file = "",
		.missing = (uint8_t)why,
		.is_preliminary = why != SYMBOL_NONE,
	};

	if (why == SYMBOL_NONE)
		snprintf(name, sizeof(name), "[%.255s+0x%llx]", file, (unsigned long long)start);
	else if (why == SYMBOL_GIVEN_UP)
		snprintf(name, sizeof(name), "[symbolizer gave up on %.255s]", file);
	else
		snprintf(name, sizeof(name), "[%.255s: symbolizer cannot be started]", file);
	return report(b, i, why == SYMBOL_NONE ? SYMBOLIZER_UNNAMED : SYMBOLIZER_GIVEN_UP, &frame,
		      1);
}

static int on_response(void *ctx, const struct protocol_response *r)
{
	struct symbol_frame frames[PROTOCOL_FRAMES_MAX];
	struct batch *b = ctx;
	size_t i = b->index[r->index];

	if (!r->n)
		return report_missing(b, i, SYMBOL_NONE, r->start);
	for (size_t k = 0; k < r->n; k++)
		frames[k] = (struct symbol_frame){
			.name = r->frames[k].name,
			.system_name = r->frames[k].system_name,
			.file = r->frames[k].file,
			.line = r->frames[k].line,
			.start_line = r->frames[k].start_line,
			.discriminator = r->frames[k].discriminator,
			.md5 = r->frames[k].md5,
			.is_preliminary = b->f->trust.level != SYMBOL_WORKER_ALL,
		};
	return report(b, i,
		      r->source < SYMBOLIZER_SOURCE_MAX ? (enum symbolizer_source)r->source
							: SYMBOLIZER_UNNAMED,
		      frames, r->n);
}

/* Makes the request: the addresses that are in the file. */
static void to_vaddrs(struct batch *b, enum symbolizer_address kind)
{
	for (size_t i = 0; i < b->n; i++) {
		uint64_t vaddr = b->addrs[i];

		if (kind == SYMBOLIZER_OFFSET &&
		    symbol_facts_vaddr(b->f->facts, b->addrs[i], &vaddr) < 0)
			continue;
		b->vaddrs[b->n_vaddrs] = vaddr;
		b->index[b->n_vaddrs++] = i;
	}
}

/* Downloads the debug file, once, if the worker finds no debug information without it. */
static int download(struct batch *b)
{
	struct symbolizer *s = b->s;
	struct file_set_entry *f = b->f;
	struct symbol_worker_query q = query_of(s, f);
	struct protocol_done done;
	int r;

	if (!s->debuginfod || f->was_downloaded)
		return 0;
	r = symbol_worker_resolve(s->worker, &q, NULL, 0, on_response, b, &done);
	if (r < 0)
		return r;
	f->was_downloaded = true;
	if (done.has_debug || f->debug_fd >= 0)
		return 0;
	f->debug_fd = debuginfod_find(s->debuginfod, &f->facts->build_id);
	f->debug_version += f->debug_fd >= 0;
	return 0;
}

static int ask_worker(struct batch *b, enum symbolizer_address kind)
{
	struct symbol_worker_query q;
	struct protocol_done done;
	int r = load_facts(b->s, b->f);

	if (r == 0)
		r = download(b);
	if (r < 0)
		return r;
	to_vaddrs(b, kind);
	if (!b->n_vaddrs)
		return 0;
	q = query_of(b->s, b->f);
	r = symbol_worker_resolve(b->s->worker, &q, b->vaddrs, b->n_vaddrs, on_response, b, &done);
	if (r == 0)
		b->s->counters.bytes = done.table_bytes;
	return r;
}

/* Reports the addresses for which the worker sent no result; @error is its failure or 0. */
static int report_remaining(struct batch *b, int error)
{
	enum symbol_missing why = !error                 ? SYMBOL_NONE
				  : error == -EOWNERDEAD ? SYMBOL_GIVEN_UP
							 : SYMBOL_NO_SYMBOLIZER;
	int r = 0;

	for (size_t i = 0; r == 0 && i < b->n; i++) {
		if (b->done[i])
			continue;
		if (error || b->s->opts.name_all)
			r = report_missing(b, i, why, b->addrs[i]);
		else
			b->s->counters.by_source[SYMBOLIZER_UNNAMED]++;
	}
	return r;
}

static int resolve(struct batch *b, enum symbolizer_address kind)
{
	bool had_given_up = b->f->trust.level == SYMBOL_WORKER_NOTHING;
	int r = ask_worker(b, kind);

	b->s->counters.files_given_up +=
		b->f->trust.level == SYMBOL_WORKER_NOTHING && !had_given_up;
	if (r > 0 || r == -ENOMEM || r == -ETIMEDOUT)
		return r;
	return report_remaining(b, r);
}

int symbolizer_resolve(struct symbolizer *s, uint32_t id, enum symbolizer_address kind,
		       const uint64_t *addrs, size_t n, symbol_frames_fn fn, void *ctx)
{
	_cleanup_(freep) uint64_t *vaddrs = calloc(n + 1, sizeof(*vaddrs));
	_cleanup_(freep) size_t *index = calloc(n + 1, sizeof(*index));
	_cleanup_(freep) bool *done = calloc(n + 1, sizeof(*done));
	struct batch b = {
		.s = s,
		.f = file_set_get(&s->files, id),
		.addrs = addrs,
		.vaddrs = vaddrs,
		.index = index,
		.done = done,
		.n = n,
		.fn = fn,
		.ctx = ctx,
	};

	if (!b.f)
		return -EINVAL;
	if (!vaddrs || !index || !done)
		return -ENOMEM;
	s->counters.addresses += n;
	return resolve(&b, kind);
}

void symbolizer_counters(const struct symbolizer *s, struct symbolizer_counters *out)
{
	*out = s->counters;
	out->files = s->files.n_live;
	out->worker_restarts = symbol_worker_failures(s->worker);
}

void symbolizer_stop_worker(struct symbolizer *s)
{
	symbol_worker_stop(s->worker);
	s->counters.bytes = 0;
}

pid_t symbolizer_worker_pid(const struct symbolizer *s)
{
	return symbol_worker_pid(s->worker);
}

const char *symbolizer_confinement(struct symbolizer *s)
{
	symbol_worker_confinement(s->worker, s->confinement, sizeof(s->confinement));
	return s->confinement;
}
