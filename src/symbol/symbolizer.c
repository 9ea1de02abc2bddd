/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chain. An answer is put together from what two processes know: this one
 * reads the file's own symbol tables and Go's pclntab; the worker, DWARF and
 * everything in a debug file. Whether there is something for the worker is
 * found out once a file; if not, it is never asked.
 *
 * A DWARF function without a mangled name (C's, but also C++'s in anonymous
 * namespaces) gets the symbol's name when that one is mangled, because it says
 * more; clone suffixes (".part.0", ".cold") of the symbol are then not shown.
 */
#include "symbol/symbolizer.h"

#include <dwarf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/sigbus.h"
#include "base/vec.h"
#include "elf/gopclntab.h"
#include "symbol/debugfile.h"
#include "symbol/debuginfod.h"
#include "symbol/file.h"
#include "symbol/same_file.h"
#include "symbol/symbol_cache.h"
#include "symbol/worker.h"

enum {
	DEFAULT_MEMORY = 64 << 20,
	DEMANGLED_SHARE = 8, /* of the memory: one in so many for demangled names */
};

struct file {
	struct symbol_file *own;
	char *path;
	int root_fd; /* -1: the host's */
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec mtime;
	uint32_t n_users;
	uint64_t used; /* when last asked about */
	bool debug_looked;
	int debug_fd; /* its separate debug file, or -1 */
	struct symbol_worker_file worker;
};

struct symbolizer {
	struct symbolizer_opts opts;
	struct demangle *demangle;
	bool worker_tried;
	struct symbol_worker *worker;  /* NULL: none, or not yet */
	struct debuginfod *debuginfod; /* NULL: none */
	struct symbol_cache *cache;    /* NULL: none */
	int host_root;
	struct {
		VEC(struct file *);
	} files; /* by id; NULL: given back */
	struct {
		VEC(uint32_t);
	} free_ids;
	struct index by_inode, by_build_id;
	uint64_t calls, n_added;
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

/* The worker, started when it is first wanted; NULL: there is none to be had. */
static struct symbol_worker *worker_of(struct symbolizer *s)
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

/* A cache directory that cannot be opened is done without. */
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
	if (opts->symbol_cache) /* done without if it can't be opened */
		(void)symbol_cache_open(&s->cache, opts->symbol_cache, opts->symbol_cache_bytes,
					NULL);
	s->worker_tried = opts->no_dwarf;
	snprintf(s->confinement, sizeof(s->confinement), "no worker: not wanted");
	start_debuginfod(s);
	*out = s;
	return 0;
}

static void file_free(struct file *f)
{
	if (!f)
		return;
	symbol_file_free(f->own);
	free(f->path);
	if (f->root_fd >= 0)
		close(f->root_fd);
	if (f->debug_fd >= 0)
		close(f->debug_fd);
	free(f);
}

void symbolizer_free(struct symbolizer *s)
{
	if (!s)
		return;
	symbol_worker_free(s->worker);
	debuginfod_free(s->debuginfod);
	demangle_free(s->demangle);
	for (size_t i = 0; i < s->files.len; i++)
		file_free(s->files.data[i]);
	vec_fini(&s->files);
	vec_fini(&s->free_ids);
	index_fini(&s->by_inode);
	index_fini(&s->by_build_id);
	symbol_cache_free(s->cache);
	if (s->host_root >= 0)
		close(s->host_root);
	free(s);
}

static bool same_inode(const struct file *f, const struct stat *st)
{
	return f->dev == st->st_dev && f->ino == st->st_ino && f->size == st->st_size &&
	       f->mtime.tv_sec == st->st_mtim.tv_sec && f->mtime.tv_nsec == st->st_mtim.tv_nsec;
}

struct inode_key {
	const struct symbolizer *s;
	const struct stat *st;
};

static bool inode_eq(const void *ctx, uint32_t id)
{
	const struct inode_key *k = ctx;

	return same_inode(k->s->files.data[id], k->st);
}

static uint32_t inode_hash(const struct file *f)
{
	return hash_u64(f->ino * 0x9e3779b97f4a7c15ULL + f->dev);
}

struct content_key {
	const struct symbolizer *s;
	const struct file *f;
};

/* The same build id, and truly the same. */
static bool content_eq(const void *ctx, uint32_t id)
{
	const struct content_key *k = ctx;
	const struct symbol_file *own = k->s->files.data[id]->own;
	const struct elf_build_id *a = symbol_file_build_id(own);
	const struct elf_build_id *b = symbol_file_build_id(k->f->own);

	return a->len == b->len && !memcmp(a->bytes, b->bytes, a->len) &&
	       same_file(symbol_file_fd(own), symbol_file_fd(k->f->own));
}

static uint32_t build_id_hash(const struct elf_build_id *id)
{
	return hash_bytes(id->bytes, id->len);
}

static int file_new(struct symbolizer *s, struct file **out, const struct symbolizer_file *in,
		    const struct stat *st)
{
	struct file *f = calloc(1, sizeof(*f));
	int fd, r = -ENOMEM;

	if (!f)
		return -ENOMEM;
	f->root_fd = in->root_fd < 0 ? -1 : fcntl(in->root_fd, F_DUPFD_CLOEXEC, 0);
	f->debug_fd = in->debug_fd < 0 ? -1 : fcntl(in->debug_fd, F_DUPFD_CLOEXEC, 0);
	f->debug_looked = f->debug_fd >= 0;
	f->dev = st->st_dev;
	f->ino = st->st_ino;
	f->size = st->st_size;
	f->mtime = st->st_mtim;
	f->path = strdup(in->path ? in->path : "");
	fd = fcntl(in->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		r = -errno;
	else
		r = symbol_file_new(&f->own, fd, s->cache);
	if (r == 0 && !f->path)
		r = -ENOMEM;
	if (r < 0) {
		file_free(f);
		return r;
	}
	*out = f;
	return 0;
}

static int new_id(struct symbolizer *s, uint32_t *out)
{
	int r;

	if (s->free_ids.len) {
		*out = s->free_ids.data[--s->free_ids.len];
		return 0;
	}
	r = vec_push(&s->files, NULL);
	*out = (uint32_t)s->files.len - 1;
	/* so that giving it back needs no memory */
	return r < 0 ? r : vec_reserve(&s->free_ids, s->files.len);
}

static int keep_file(struct symbolizer *s, struct file *f, uint32_t *out_id)
{
	const struct elf_build_id *id = symbol_file_build_id(f->own);
	int r = new_id(s, out_id);

	if (r < 0) {
		file_free(f);
		return r;
	}
	s->files.data[*out_id] = f;
	f->n_users = 1;
	f->worker.key = ++s->n_added; /* never given again */
	s->counters.files++;
	r = index_add(&s->by_inode, inode_hash(f), *out_id);
	return r == 0 && id->len ? index_add(&s->by_build_id, build_id_hash(id), *out_id) : r;
}

void symbolizer_release_file(struct symbolizer *s, uint32_t id)
{
	struct file *f = s->files.data[id];
	const struct elf_build_id *build_id = symbol_file_build_id(f->own);

	if (--f->n_users)
		return;
	index_remove(&s->by_inode, inode_hash(f), id);
	index_remove(&s->by_build_id, build_id_hash(build_id), id);
	file_free(f);
	s->files.data[id] = NULL;
	s->free_ids.data[s->free_ids.len++] = id;
	s->counters.files--;
}

int symbolizer_add_file(struct symbolizer *s, const struct symbolizer_file *in, uint32_t *out_id)
{
	struct content_key content = { .s = s };
	struct stat st;
	const struct inode_key inode = { s, &st };
	struct file *f;
	int r;

	if (fstat(in->fd, &st) < 0)
		return -errno;
	r = file_new(s, &f, in, &st);
	if (r < 0)
		return r;
	content.f = f;
	if (!index_find(&s->by_inode, inode_hash(f), inode_eq, &inode, out_id) &&
	    !(symbol_file_build_id(f->own)->len &&
	      index_find(&s->by_build_id, build_id_hash(symbol_file_build_id(f->own)), content_eq,
			 &content, out_id)))
		return keep_file(s, f, out_id);
	file_free(f);
	s->files.data[*out_id]->n_users++;
	return 0;
}

/* A file and where its other files are looked for: what NEEDs of the worker refer to. */
struct need_ctx {
	struct symbolizer *s;
	struct file *f;
};

static struct debugfile_of debugfile_of(const struct need_ctx *n)
{
	struct debugfile_of of = {
		.roots = { .process = n->f->root_fd, .host = n->s->host_root },
		.path = n->f->path,
		.build_id = *symbol_file_build_id(n->f->own),
	};

	of.link = symbol_file_debuglink(n->f->own, &of.link_crc);
	return of;
}

static int need_file(void *ctx, const struct protocol_need *need)
{
	struct need_ctx *n = ctx;
	struct debugfile_of of = debugfile_of(n);

	switch (need->kind) {
	case PROTOCOL_NEED_FILE:
		return fcntl(symbol_file_fd(n->f->own), F_DUPFD_CLOEXEC, 0);
	case PROTOCOL_NEED_DEBUG:
		return n->f->debug_fd < 0 ? -ENOENT : fcntl(n->f->debug_fd, F_DUPFD_CLOEXEC, 0);
	case PROTOCOL_NEED_ALT:
		return debugfile_open_alt(&of, need->name, need->id, need->id_len);
	case PROTOCOL_NEED_DWO:
		return debugfile_open_dwo(&of, need->name, need->dir);
	case PROTOCOL_NEED_DWP:
		return debugfile_open_dwp(&of);
	default:
		return -EINVAL;
	}
}

static bool is_over(const struct symbolizer *s)
{
	uint64_t until_ns = s->opts.until_ns ? atomic_load(s->opts.until_ns) : 0;

	return until_ns && clock_monotonic_ns() >= until_ns;
}

/* Is there anything in or for this file that only the worker can read, and time for it? */
static bool worth_asking(struct need_ctx *n)
{
	struct debugfile_of of = debugfile_of(n);

	if (n->s->opts.no_dwarf || n->f->worker.given_up || is_over(n->s))
		return false;
	if (!n->f->debug_looked) {
		n->f->debug_looked = true;
		n->f->debug_fd = debugfile_open(&of);
		if (n->f->debug_fd < 0 && n->s->debuginfod && !symbol_file_has_dwarf(n->f->own))
			n->f->debug_fd = debuginfod_find(n->s->debuginfod, &of.build_id);
	}
	return (symbol_file_has_debug(n->f->own) || n->f->debug_fd >= 0) && worker_of(n->s);
}

/* One batch being answered. */
struct ask {
	struct symbolizer *s;
	struct file *f;
	const uint64_t *vaddrs; /* UINT64_MAX: not in the file */
	const char **names;     /* raw, of .symtab; NULL if it has none */
	const char **dynamic;   /* the same of .dynsym, of those that nobody else names */
	bool *done;
	size_t n;
	symbol_answer_fn fn;
	void *ctx;
	bool ada;
	/* What the worker is asked: addresses, and which they are in the batch. */
	uint64_t *left;
	size_t *left_index;
	size_t n_left;
};

static int give_answer(struct ask *a, size_t i, enum symbolizer_source source,
		       const struct symbol_frame *frames, size_t n)
{
	a->done[i] = true;
	a->s->counters.by_source[source]++;
	return a->fn(a->ctx, i, frames, n);
}

static int give_name(struct ask *a, size_t i, enum symbolizer_source source, const char *raw)
{
	struct symbol_frame f = {
		.name = demangle_get(a->s->demangle, raw, a->ada),
		.system_name = raw,
		.file = "",
	};

	return give_answer(a, i, source, &f, 1);
}

static int answer_go(struct ask *a, size_t i)
{
	struct gopclntab_frame go[GOPCLNTAB_FRAMES_MAX];
	struct symbol_frame frames[GOPCLNTAB_FRAMES_MAX];
	int n = symbol_file_go_frames(a->f->own, a->vaddrs[i], go, GOPCLNTAB_FRAMES_MAX);

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
	return give_answer(a, i, SYMBOLIZER_GO, frames, (size_t)n);
}

static bool is_mangled(const char *raw)
{
	return raw && raw[0] == '_' && (raw[1] == 'Z' || raw[1] == 'R' || raw[1] == 'D');
}

static bool is_ada(uint32_t lang)
{
	return lang == DW_LANG_Ada83 || lang == DW_LANG_Ada95;
}

/* The raw name of a frame; @symbol is .symtab's for the function that is not inlined. */
static const char *raw_name(const struct protocol_frame *f, const char *symbol)
{
	if (*f->linkage)
		return f->linkage;
	if (symbol && (is_mangled(symbol) || !*f->name))
		return symbol;
	return f->name;
}

static int answer_worker(void *ctx, size_t index, const struct protocol_frame *in, size_t n)
{
	struct symbol_frame frames[PROTOCOL_FRAMES_MAX];
	struct ask *a = ctx;
	size_t i = a->left_index[index];
	bool from_dwarf = n > 1 || in[0].lang;

	for (size_t k = 0; k < n; k++) {
		const char *raw = raw_name(&in[k], k + 1 == n ? a->names[i] : NULL);

		if (!*raw)
			return 0; /* a line without a function */
		frames[k] = (struct symbol_frame){
			.name = demangle_get(a->s->demangle, raw, a->ada || is_ada(in[k].lang)),
			.system_name = raw,
			.file = in[k].file,
			.line = in[k].line,
			.start_line = in[k].start_line,
		};
	}
	return give_answer(a, i, from_dwarf ? SYMBOLIZER_DWARF : SYMBOLIZER_DEBUG_SYMTAB, frames,
			   n);
}

/* What this process reads before the worker is asked. */
static int ask_own(void *ctx)
{
	struct ask *a = ctx;
	int r = 0;

	a->ada = symbol_file_is_ada(a->f->own);
	for (size_t i = 0; r == 0 && i < a->n; i++)
		r = a->vaddrs[i] == UINT64_MAX ? 0 : answer_go(a, i);
	for (size_t i = 0; i < a->n; i++)
		a->left[i] = a->done[i] ? UINT64_MAX : a->vaddrs[i];
	symbol_file_names(a->f->own, SYMBOL_TABLE_SYMTAB, a->left, a->n, a->names);
	return r;
}

static int ask_worker(struct ask *a)
{
	struct need_ctx n = { a->s, a->f };
	bool had_given_up = a->f->worker.given_up;
	int r;

	if (!worth_asking(&n))
		return 0;
	for (size_t i = 0; i < a->n; i++) {
		if (a->done[i] || a->vaddrs[i] == UINT64_MAX)
			continue;
		a->left[a->n_left] = a->vaddrs[i];
		a->left_index[a->n_left++] = i;
	}
	a->f->worker.need = need_file;
	a->f->worker.need_ctx = &n;
	r = symbol_worker_ask(a->s->worker, &a->f->worker, a->left, a->n_left, answer_worker, a,
			      NULL);
	a->s->counters.files_given_up += a->f->worker.given_up && !had_given_up;
	return r > 0 ? r : 0; /* without a worker, symbol tables answer */
}

static int give_up_name(struct ask *a, size_t i)
{
	const char *slash = strrchr(a->f->path, '/');
	char name[160];

	snprintf(name, sizeof(name), "[symbolizer gave up on %.100s]",
		 slash ? slash + 1 : a->f->path);
	return give_name(a, i, SYMBOLIZER_GIVEN_UP, name);
}

/* What nobody before has named. */
static int ask_last(struct ask *a)
{
	int r = 0;

	for (size_t i = 0; i < a->n; i++)
		a->left[i] = a->done[i] || a->names[i] ? UINT64_MAX : a->vaddrs[i];
	symbol_file_names(a->f->own, SYMBOL_TABLE_DYNSYM, a->left, a->n, a->dynamic);
	for (size_t i = 0; r == 0 && i < a->n; i++) {
		if (a->done[i])
			continue;
		if (a->names[i])
			r = give_name(a, i, SYMBOLIZER_SYMTAB, a->names[i]);
		else if (a->dynamic[i])
			r = give_name(a, i, SYMBOLIZER_DYNSYM, a->dynamic[i]);
		else if (a->f->worker.given_up)
			r = give_up_name(a, i);
		else
			a->s->counters.by_source[SYMBOLIZER_UNNAMED]++;
	}
	return r;
}

/* Drop tables of the files asked about longest ago until all fit. */
static void obey_budget(struct symbolizer *s)
{
	size_t bytes = 0;

	for (size_t i = 0; i < s->files.len; i++)
		bytes += s->files.data[i] ? symbol_file_bytes(s->files.data[i]->own) : 0;
	while (bytes > s->opts.memory_bytes) {
		struct file *oldest = NULL;
		size_t most;

		for (size_t i = 0; i < s->files.len; i++) {
			struct file *f = s->files.data[i];

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

/* @vaddrs in the file's terms, UINT64_MAX for what is not in it. */
static void to_vaddrs(const struct file *f, enum symbolizer_address kind, const uint64_t *addrs,
		      size_t n, uint64_t *vaddrs)
{
	for (size_t i = 0; i < n; i++) {
		vaddrs[i] = addrs[i];
		if (kind == SYMBOLIZER_OFFSET &&
		    symbol_file_vaddr(f->own, addrs[i], &vaddrs[i]) < 0)
			vaddrs[i] = UINT64_MAX;
	}
}

int symbolizer_ask(struct symbolizer *s, uint32_t id, enum symbolizer_address kind,
		   const uint64_t *addrs, size_t n, symbol_answer_fn fn, void *ctx)
{
	_cleanup_(freep) uint64_t *vaddrs = calloc(n + 1, 2 * sizeof(*vaddrs));
	_cleanup_(freep) const char **names = calloc(n + 1, 2 * sizeof(*names));
	_cleanup_(freep) size_t *left_index = calloc(n + 1, sizeof(*left_index));
	_cleanup_(freep) bool *done = calloc(n + 1, sizeof(*done));
	struct ask a = { .s = s,
			 .vaddrs = vaddrs,
			 .names = names,
			 .dynamic = names ? names + n : NULL,
			 .done = done,
			 .n = n,
			 .fn = fn,
			 .ctx = ctx,
			 .left_index = left_index };
	int r;

	if (id >= s->files.len || !s->files.data[id])
		return -EINVAL;
	if (!vaddrs || !names || !left_index || !done)
		return -ENOMEM;
	a.f = s->files.data[id];
	a.left = vaddrs + n + 1;
	a.f->used = ++s->calls;
	s->counters.asked += n;
	to_vaddrs(a.f, kind, addrs, n, vaddrs);
	r = sigbus_run(ask_own, &a);
	if (r == -EFAULT)
		r = 0; /* the file shrank: what was read of it is gone too */
	if (r == 0)
		r = ask_worker(&a);
	if (r == 0)
		r = ask_last(&a);
	symbol_file_rest(a.f->own);
	obey_budget(s);
	return r;
}

void symbolizer_counters(const struct symbolizer *s, struct symbolizer_counters *out)
{
	*out = s->counters;
	out->worker_restarts = s->worker ? symbol_worker_restarts(s->worker) : 0;
}

void symbolizer_rest(struct symbolizer *s)
{
	if (s->worker)
		symbol_worker_rest(s->worker);
}

pid_t symbolizer_worker_pid(const struct symbolizer *s)
{
	return s->worker ? symbol_worker_pid(s->worker) : 0;
}

const char *symbolizer_confinement(struct symbolizer *s)
{
	(void)worker_of(s);
	return s->confinement;
}
