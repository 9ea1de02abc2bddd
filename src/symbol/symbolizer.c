/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two processes contribute to a result. This one reads the file's own symbol
 * tables and Go's pclntab; the worker reads DWARF and everything in debug
 * files. One check per file determines if it has anything for the worker.
 * If not, the worker receives no request for it.
 *
 * A batch is resolved in three steps: resolve_own() for Go and .symtab,
 * resolve_in_worker() for DWARF, and resolve_remaining() for .dynsym and for
 * addresses that only .symtab covers.
 *
 * A DWARF function without a linkage name (in C, but also in C++ anonymous
 * namespaces) gets the name of the symbol if that is mangled, because it
 * includes the namespace and parameters. Otherwise DWARF's name is used, which
 * has no clone suffix such as ".part.0" or ".cold".
 */
#include "symbol/symbolizer.h"

#include <dwarf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alias.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/sigbus.h"
#include "elf/gopclntab.h"
#include "symbol/debugfile.h"
#include "symbol/debuginfod.h"
#include "symbol/file.h"
#include "symbol/file_set.h"
#include "symbol/symbol_cache.h"
#include "symbol/worker.h"

enum {
	DEFAULT_MEMORY = 64 << 20,
	DEMANGLED_SHARE = 8, /* demangled names take at most 1/8 of the memory */
};

struct symbolizer {
	struct symbolizer_opts opts;
	struct demangle *demangle;
	bool worker_tried;
	struct symbol_worker *worker;  /* NULL: not started, or failed to start */
	struct debuginfod *debuginfod; /* NULL: not configured */
	struct symbol_cache *cache;    /* NULL: not configured, or unusable */
	int host_root;
	struct file_set files;
	uint64_t calls; /* number of batches so far */
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

/* Returns the worker, which is started on first use; NULL if it cannot be started. */
static struct symbol_worker *get_worker(struct symbolizer *s)
{
	struct symbol_worker_opts opts = {
		.memory_bytes = s->opts.worker_memory_bytes,
		.timeout_ms = s->opts.timeout_ms,
		.until_ns = s->opts.until_ns,
	};
	struct err err = { 0 };

	if (s->worker_tried)
		return s->worker;
	s->worker_tried = true;
	if (symbol_worker_new(&s->worker, &opts, &err) < 0)
		snprintf(s->confinement, sizeof(s->confinement), "no worker: %s", err.msg);
	else
		snprintf(s->confinement, sizeof(s->confinement), "%s",
			 symbol_worker_confinement(s->worker));
	return s->worker;
}

/* If the cache directory cannot be opened, downloads are not cached. */
static void start_debuginfod(struct symbolizer *s)
{
	struct debuginfod_opts opts = {
		.urls = s->opts.debuginfod,
		.cache_dir = s->opts.debuginfod_cache,
		.cache_bytes = s->opts.debuginfod_cache_bytes,
		.timeout_ms = s->opts.debuginfod_timeout_ms,
	};

	if (!opts.urls || s->opts.no_dwarf)
		return;
	if (debuginfod_new(&s->debuginfod, &opts, NULL) == 0)
		return;
	opts.cache_dir = NULL;
	(void)debuginfod_new(&s->debuginfod, &opts, NULL);
}

int symbolizer_new(struct symbolizer **out, const struct symbolizer_opts *opts)
{
	struct symbolizer *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->opts = *opts;
	if (!s->opts.memory_bytes)
		s->opts.memory_bytes = DEFAULT_MEMORY;
	s->host_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (demangle_new(&s->demangle, opts->demangle) < 0) {
		symbolizer_free(s);
		return -ENOMEM;
	}
	if (opts->symbol_cache) /* If it cannot be opened, tables are not cached. */
		(void)symbol_cache_open(&s->cache, opts->symbol_cache, opts->symbol_cache_bytes,
					NULL);
	s->worker_tried = opts->no_dwarf;
	snprintf(s->confinement, sizeof(s->confinement), "no worker: DWARF is disabled");
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
	demangle_free(s->demangle);
	file_set_fini(&s->files);
	symbol_cache_free(s->cache);
	if (s->host_root >= 0)
		close(s->host_root);
	free(s);
}

void symbolizer_release_file(struct symbolizer *s, uint32_t id)
{
	file_set_release(&s->files, id);
}

int symbolizer_add_file(struct symbolizer *s, const struct symbolizer_file *in, uint32_t *out_id)
{
	return file_set_add(&s->files, in, s->cache, out_id);
}

/* The context of need_file(): the file whose request the worker is processing. */
struct need_ctx {
	struct symbolizer *s;
	struct file_set_entry *f;
};

static struct debugfile_query debugfile_query_of(const struct need_ctx *n)
{
	struct debugfile_query query = {
		.roots = { .process = n->f->root_fd, .host = n->s->host_root },
		.path = n->f->path,
		.build_id = *symbol_file_build_id(n->f->own),
	};

	query.link = symbol_file_debuglink(n->f->own, &query.link_crc);
	return query;
}

/* Opens a file that the worker needs, which cannot open files itself. */
static int need_file(void *ctx, const struct protocol_need *need)
{
	struct need_ctx *n = ctx;
	struct debugfile_query query = debugfile_query_of(n);

	switch (need->kind) {
	case PROTOCOL_NEED_FILE:
		return fcntl(symbol_file_fd(n->f->own), F_DUPFD_CLOEXEC, 0);
	case PROTOCOL_NEED_DEBUG:
		return n->f->debug_fd < 0 ? -ENOENT : fcntl(n->f->debug_fd, F_DUPFD_CLOEXEC, 0);
	case PROTOCOL_NEED_ALT:
		return debugfile_open_alt(&query, need->name, need->id, need->id_len);
	case PROTOCOL_NEED_DWO:
		return debugfile_open_dwo(&query, need->name, need->dir);
	case PROTOCOL_NEED_DWP:
		return debugfile_open_dwp(&query);
	default:
		return -EINVAL;
	}
}

static bool is_past_deadline(const struct symbolizer *s)
{
	uint64_t until_ns = s->opts.until_ns ? atomic_load(s->opts.until_ns) : 0;

	return until_ns && clock_monotonic_ns() >= until_ns;
}

/* Returns true if the worker can contribute to this file and there is time for a request. */
static bool worker_is_useful(struct need_ctx *n)
{
	struct debugfile_query query = debugfile_query_of(n);

	if (n->s->opts.no_dwarf || n->f->worker.given_up || is_past_deadline(n->s))
		return false;
	if (!n->f->debug_searched) {
		n->f->debug_searched = true;
		n->f->debug_fd = debugfile_open(&query);
		if (n->f->debug_fd < 0 && n->s->debuginfod && !symbol_file_has_dwarf(n->f->own))
			n->f->debug_fd = debuginfod_find(n->s->debuginfod, &query.build_id);
	}
	return (symbol_file_has_debug(n->f->own) || n->f->debug_fd >= 0) && get_worker(n->s);
}

/* One call of symbolizer_resolve(). Arrays have one element per address. */
struct batch {
	struct symbolizer *s;
	struct file_set_entry *f;
	const uint64_t *vaddrs; /* UINT64_MAX: not in the file */
	const char **names;     /* raw symbols of .symtab; NULL if there is none */
	const char **dynamic;   /* raw symbols of .dynsym, for addresses without one of .symtab */
	bool has_dynamic;
	bool *done;
	size_t n;
	symbol_frames_fn fn;
	void *ctx;
	bool ada;
	/* The request to the worker: addresses, and the index of each in the batch. */
	uint64_t *pending;
	size_t *pending_index;
	size_t n_pending;
};

/* Every address is reported once: later steps skip those that are done. */
static int report_frames(struct batch *b, size_t i, enum symbolizer_source source,
			 const struct symbol_frame *frames, size_t n)
{
	b->done[i] = true;
	b->s->counters.by_source[source]++;
	return b->fn(b->ctx, i, frames, n);
}

static int report_symbol(struct batch *b, size_t i, enum symbolizer_source source, const char *raw)
{
	struct symbol_frame f = {
		.name = demangle_get(b->s->demangle, raw, b->ada),
		.system_name = raw,
		.file = "",
	};

	return report_frames(b, i, source, &f, 1);
}

static int resolve_go(struct batch *b, size_t i)
{
	struct gopclntab_frame go[GOPCLNTAB_FRAMES_MAX];
	struct symbol_frame frames[GOPCLNTAB_FRAMES_MAX];
	int n = symbol_file_go_frames(b->f->own, b->vaddrs[i], go, GOPCLNTAB_FRAMES_MAX);

	if (n <= 0)
		return 0;
	for (int k = 0; k < n; k++)
		frames[k] = (struct symbol_frame){
			.name = go[k].function,
			.system_name = go[k].function,
			.file = go[k].file,
			.line = go[k].line,
			.start_line = go[k].start_line,
		};
	return report_frames(b, i, SYMBOLIZER_GO, frames, (size_t)n);
}

static bool is_mangled(const char *raw)
{
	return raw && raw[0] == '_' && (raw[1] == 'Z' || raw[1] == 'R' || raw[1] == 'D');
}

static bool is_ada(uint32_t lang)
{
	return lang == DW_LANG_Ada83 || lang == DW_LANG_Ada95;
}

/* True if @symbol is the public name of a C function that debug information calls @internal. */
static bool is_public_name(const char *symbol, const char *internal)
{
	const struct alias_name a = { symbol, strlen(symbol) }, b = { internal, strlen(internal) };

	return internal[0] == '_' && !is_mangled(internal) && alias_name_is_better(&a, &b);
}

/*
 * Returns the raw name of a frame. @symbol is from the file's own symbol tables; NULL for inlined
 * functions. Debug information has internal names of functions that a C library exports
 * (__GI___libc_malloc): the file's own name wins.
 */
static const char *raw_name(const struct protocol_frame *f, const char *symbol)
{
	const char *name = *f->linkage ? f->linkage : f->name;

	if (!symbol)
		return name;
	if (!*name || is_public_name(symbol, name) || (!*f->linkage && is_mangled(symbol)))
		return symbol;
	return name;
}

static int on_worker_frames(void *ctx, size_t index, const struct protocol_frame *in, size_t n)
{
	struct symbol_frame frames[PROTOCOL_FRAMES_MAX];
	struct batch *b = ctx;
	size_t i = b->pending_index[index];
	bool from_dwarf = n > 1 || in[0].lang;

	for (size_t k = 0; k < n; k++) {
		const char *own = b->names[i] ? b->names[i] : b->dynamic[i];
		const char *raw = raw_name(&in[k], k + 1 == n ? own : NULL);

		if (!*raw)
			return 0; /* DWARF has a line here but no function. */
		frames[k] = (struct symbol_frame){
			.name = demangle_get(b->s->demangle, raw, b->ada || is_ada(in[k].lang)),
			.system_name = raw,
			.file = in[k].file,
			.line = in[k].line,
			.start_line = in[k].start_line,
		};
	}
	return report_frames(b, i, from_dwarf ? SYMBOLIZER_DWARF : SYMBOLIZER_DEBUG_SYMTAB, frames,
			     n);
}

/* Resolves Go addresses and looks up .symtab. Runs under sigbus_run(). */
static int resolve_own(void *ctx)
{
	struct batch *b = ctx;
	int r = 0;

	b->ada = symbol_file_is_ada(b->f->own);
	for (size_t i = 0; r == 0 && i < b->n; i++)
		r = b->vaddrs[i] == UINT64_MAX ? 0 : resolve_go(b, i);
	for (size_t i = 0; i < b->n; i++)
		b->pending[i] = b->done[i] ? UINT64_MAX : b->vaddrs[i];
	symbol_file_find_names(b->f->own, SYMBOL_TABLE_SYMTAB, b->pending, b->n, b->names);
	return r;
}

/* Looks up .dynsym for the addresses that have no other name yet. */
static void find_dynamic(struct batch *b)
{
	if (b->has_dynamic)
		return;
	b->has_dynamic = true;
	for (size_t i = 0; i < b->n; i++)
		b->pending[i] = b->done[i] || b->names[i] ? UINT64_MAX : b->vaddrs[i];
	symbol_file_find_names(b->f->own, SYMBOL_TABLE_DYNSYM, b->pending, b->n, b->dynamic);
}

/*
 * Failures of the worker are not errors of the batch: its addresses get the names of the symbol
 * tables.
 */
static int resolve_in_worker(struct batch *b)
{
	struct need_ctx n = { b->s, b->f };
	bool had_given_up = b->f->worker.given_up;
	int r;

	if (!worker_is_useful(&n))
		return 0;
	find_dynamic(b);
	for (size_t i = 0; i < b->n; i++) {
		if (b->done[i] || b->vaddrs[i] == UINT64_MAX)
			continue;
		b->pending[b->n_pending] = b->vaddrs[i];
		b->pending_index[b->n_pending++] = i;
	}
	b->f->worker.need = need_file;
	b->f->worker.need_ctx = &n;
	r = symbol_worker_resolve(b->s->worker, &b->f->worker, b->pending, b->n_pending,
				  on_worker_frames, b, NULL);
	b->s->counters.files_given_up += b->f->worker.given_up && !had_given_up;
	return r > 0 ? r : 0; /* Without a worker, symbol tables are used. */
}

#define GAVE_UP "[symbolizer gave up on "

bool symbolizer_has_given_up(const struct symbol_frame *frame)
{
	return !strncmp(frame->name, GAVE_UP, sizeof(GAVE_UP) - 1);
}

/* Such frames have a name of their own, so that users notice what is missing, and why. */
static int report_given_up(struct batch *b, size_t i)
{
	const char *slash = strrchr(b->f->path, '/');
	char name[160];

	snprintf(name, sizeof(name), GAVE_UP "%.100s]", slash ? slash + 1 : b->f->path);
	return report_symbol(b, i, SYMBOLIZER_GIVEN_UP, name);
}

/* Reports every address that the previous steps have not. */
static int resolve_remaining(struct batch *b)
{
	int r = 0;

	find_dynamic(b);
	for (size_t i = 0; r == 0 && i < b->n; i++) {
		if (b->done[i])
			continue;
		if (b->names[i])
			r = report_symbol(b, i, SYMBOLIZER_SYMTAB, b->names[i]);
		else if (b->dynamic[i])
			r = report_symbol(b, i, SYMBOLIZER_DYNSYM, b->dynamic[i]);
		else if (b->f->worker.given_up)
			r = report_given_up(b, i);
		else
			b->s->counters.by_source[SYMBOLIZER_UNNAMED]++;
	}
	return r;
}

/* Drops the tables of the least recently used files until the rest fits into the budget. */
static void obey_budget(struct symbolizer *s)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < s->files.files.len; i++) {
		const struct file_set_entry *f = file_set_get(&s->files, i);

		bytes += f ? symbol_file_bytes(f->own) : 0;
	}
	while (bytes > s->opts.memory_bytes) {
		struct file_set_entry *oldest = NULL;
		size_t most;

		for (uint32_t i = 0; i < s->files.files.len; i++) {
			struct file_set_entry *f = file_set_get(&s->files, i);

			if (f && f->used && (!oldest || f->used < oldest->used))
				oldest = f;
		}
		if (!oldest)
			break;
		most = symbol_file_bytes(oldest->own);
		symbol_file_trim(oldest->own);
		bytes -= most - symbol_file_bytes(oldest->own);
		oldest->used = 0;
	}
	s->counters.bytes = bytes;
	demangle_trim(s->demangle, s->opts.memory_bytes / DEMANGLED_SHARE);
}

/* Converts @addrs to virtual addresses; UINT64_MAX for those outside the file's segments. */
static void to_vaddrs(const struct file_set_entry *f, enum symbolizer_address kind,
		      const uint64_t *addrs, size_t n, uint64_t *vaddrs)
{
	for (size_t i = 0; i < n; i++) {
		vaddrs[i] = addrs[i];
		if (kind == SYMBOLIZER_OFFSET &&
		    symbol_file_vaddr(f->own, addrs[i], &vaddrs[i]) < 0)
			vaddrs[i] = UINT64_MAX;
	}
}

int symbolizer_resolve(struct symbolizer *s, uint32_t id, enum symbolizer_address kind,
		       const uint64_t *addrs, size_t n, symbol_frames_fn fn, void *ctx)
{
	_cleanup_(freep) uint64_t *vaddrs = calloc(n + 1, 2 * sizeof(*vaddrs));
	_cleanup_(freep) const char **names = calloc(n + 1, 2 * sizeof(*names));
	_cleanup_(freep) size_t *pending_index = calloc(n + 1, sizeof(*pending_index));
	_cleanup_(freep) bool *done = calloc(n + 1, sizeof(*done));
	struct batch b = { .s = s,
			   .vaddrs = vaddrs,
			   .names = names,
			   .dynamic = names ? names + n : NULL,
			   .done = done,
			   .n = n,
			   .fn = fn,
			   .ctx = ctx,
			   .pending_index = pending_index };
	int r;

	b.f = file_set_get(&s->files, id);
	if (!b.f)
		return -EINVAL;
	if (!vaddrs || !names || !pending_index || !done)
		return -ENOMEM;
	b.pending = vaddrs + n + 1;
	b.f->used = ++s->calls;
	s->counters.addresses += n;
	to_vaddrs(b.f, kind, addrs, n, vaddrs);
	r = sigbus_run(resolve_own, &b);
	if (r == -EFAULT)
		r = 0; /* The file shrank, so its tables are unusable; the worker may still help. */
	if (r == 0)
		r = resolve_in_worker(&b);
	if (r == 0)
		r = resolve_remaining(&b);
	symbol_file_release_pages(b.f->own);
	obey_budget(s);
	return r;
}

void symbolizer_counters(const struct symbolizer *s, struct symbolizer_counters *out)
{
	*out = s->counters;
	out->files = s->files.n_live;
	out->worker_restarts = s->worker ? symbol_worker_restarts(s->worker) : 0;
}

void symbolizer_stop_worker(struct symbolizer *s)
{
	if (s->worker)
		symbol_worker_stop(s->worker);
}

pid_t symbolizer_worker_pid(const struct symbolizer *s)
{
	return s->worker ? symbol_worker_pid(s->worker) : 0;
}

const char *symbolizer_confinement(struct symbolizer *s)
{
	(void)get_worker(s);
	return s->confinement;
}
