/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An address without a symbol still becomes a frame: [FILE+0xADDRESS], [kernel+0xADDRESS] or
 * [anonymous code]. A walk that ended early adds [incomplete: REASON] as the outermost frame.
 */
#include "symbolize/frame_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/sigbus.h"
#include "base/vec.h"
#include "bpf/shared/abi.h"
#include "elf/function_extents.h"
#include "elf/image.h"
#include "elf/thread_start.h"
#include "lang/lang.h"
#include "proc/usage.h"
#include "process/file_table.h"
#include "process/jit_symbols.h"
#include "profile/profile.h"
#include "profiler/offcpu.h"
#include "symbol/demangle.h"
#include "symbol/kernel_symbols.h"
#include "symbolize/address_cache.h"
#include "unwind/special_code.h"
#include "unwind/walk.h"

enum {
	BATCH = 1024,
	SYMBOLIZER_FILES_MAX = 4096, /* each holds descriptors: above this, all are released */
	IDLE_AFTER = 2, /* batches without a lookup after which the symbolizer is idled */
};

/* Knowledge about one file of the file table. */
struct file_state {
	uint64_t serial; /* 0: nothing is known */
	bool added;      /* the symbolizer knows the file as symbolizer_id */
	uint32_t symbolizer_id;
	struct elf_image *img; /* NULL: not an ELF file */
	/* valid once a function without a symbol was met, else extents is NULL */
	struct function_extents *extents;
	uint64_t entry; /* where the program begins; 0 in libraries */
	struct elf_thread_start threads[ELF_THREAD_STARTS_MAX];
	size_t n_threads;
};

struct frame_symbols {
	struct frame_symbols_opts opts;
	struct symbolizer *symbolizer;
	struct kernel_symbols *kernel;
	struct {
		VEC(struct file_state);
	} states; /* by file id */
	struct address_cache *cache;
	struct symbolizer_counters retired; /* sums of symbolizers that were replaced */
	uint64_t n_lookups;                 /* lookups at the end of the last batch */
	unsigned int n_quiet;
};

/* One call of frame_symbols_prefetch() or frame_symbols_resolve(). */
struct batch {
	struct frame_symbols *l;
	struct profile *p;
	struct {
		VEC(uint64_t);
	} unknown; /* native words to look up */
	/* the current file */
	uint32_t file;
	const struct file_info *info;
	struct file_state *state;
};

/* Forgets the file. */
static void state_reset(struct file_state *k)
{
	function_extents_free(k->extents);
	elf_image_free(k->img);
	*k = (struct file_state){ 0 };
}

int frame_symbols_new(struct frame_symbols **out, const struct frame_symbols_opts *opts)
{
	_cleanup_(frame_symbols_freep) struct frame_symbols *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	l->opts = *opts;
	r = address_cache_new(&l->cache, opts->address_cache_bytes);
	if (r == 0)
		r = kernel_symbols_new(&l->kernel, opts->kernel_changes, NULL);
	if (r == 0)
		r = symbolizer_new(&l->symbolizer, &opts->symbolizer);
	if (r < 0)
		return r;
	*out = steal_ptr(&l);
	return 0;
}

void frame_symbols_free(struct frame_symbols *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->states.len; i++)
		state_reset(&l->states.data[i]);
	vec_fini(&l->states);
	address_cache_free(l->cache);
	kernel_symbols_free(l->kernel);
	symbolizer_free(l->symbolizer);
	free(l);
}

/*
 * The lock protects the file table and the language runtimes, which the sampling thread changes. In
 * a recording both run in one thread and there is no lock.
 */
static void lock(struct frame_symbols *l)
{
	if (l->opts.lock)
		pthread_mutex_lock(l->opts.lock);
}

static void unlock(struct frame_symbols *l)
{
	if (l->opts.lock)
		pthread_mutex_unlock(l->opts.lock);
}

/*
 * A file is not evicted while a window that is being symbolized refers to it, so the result
 * stays valid after unlocking.
 */
static const struct file_info *file_get(struct frame_symbols *l, uint32_t id)
{
	const struct file_info *info;

	lock(l);
	info = file_table_get(l->opts.files, id);
	unlock(l);
	return info;
}

size_t frame_symbols_bytes(const struct frame_symbols *l)
{
	struct symbolizer_counters c;

	symbolizer_counters(l->symbolizer, &c);
	return address_cache_bytes(l->cache) + c.bytes;
}

int frame_symbols_worker_pid(const struct frame_symbols *l)
{
	return (int)symbolizer_worker_pid(l->symbolizer);
}

/* Sums over the present symbolizer and those that it replaced. */
void frame_symbols_counters(const struct frame_symbols *l, struct symbolizer_counters *out)
{
	symbolizer_counters(l->symbolizer, out);
	out->addresses += l->retired.addresses;
	out->worker_restarts += l->retired.worker_restarts;
	out->files_given_up += l->retired.files_given_up;
	for (int i = 0; i < SYMBOLIZER_SOURCE_MAX; i++)
		out->by_source[i] += l->retired.by_source[i];
}

/* Replaces the symbolizer by a new one, which knows no files. */
static void symbolizer_renew(struct frame_symbols *l)
{
	struct symbolizer_counters sums;
	struct symbolizer *fresh;

	if (symbolizer_new(&fresh, &l->opts.symbolizer) < 0)
		return;
	frame_symbols_counters(l, &sums);
	l->retired = sums;
	symbolizer_free(l->symbolizer);
	l->symbolizer = fresh;
	for (size_t i = 0; i < l->states.len; i++)
		state_reset(&l->states.data[i]);
}

void frame_symbols_trim(struct frame_symbols *l)
{
	address_cache_clear(l->cache);
	symbolizer_renew(l);
}

/*
 * Once all addresses of a few batches were in the cache, the worker is stopped to release its
 * memory: it starts again with the next unknown address.
 */
void frame_symbols_end_batch(struct frame_symbols *l)
{
	struct symbolizer_counters c;

	symbolizer_counters(l->symbolizer, &c);
	l->n_quiet = c.addresses == l->n_lookups ? l->n_quiet + 1 : 0;
	l->n_lookups = c.addresses;
	if (c.files > SYMBOLIZER_FILES_MAX)
		symbolizer_renew(l);
	else if (l->n_quiet == IDLE_AFTER)
		symbolizer_stop_worker(l->symbolizer);
	jit_symbols_end_batch(l->opts.jits);
}

/* ---- building blocks ---------------------------------------------------------- */

static int add_string(struct batch *b, const char *s, uint32_t *out)
{
	return profile_add_string(b->p, s, strlen(s), out);
}

/* A missing system name is the name itself, since pprof demangles and compares the system name. */
static int add_line(struct batch *b, const struct symbol_frame *f, struct profile_line *out)
{
	struct profile_function fn = { .start_line = f->start_line };
	int r = add_string(b, f->name, &fn.name);

	if (r == 0)
		r = add_string(b, f->system_name ? f->system_name : f->name, &fn.system_name);
	if (r == 0)
		r = add_string(b, f->file ? f->file : "", &fn.file);
	if (r == 0)
		r = profile_add_function(b->p, &fn, &out->function);
	out->line = f->line;
	out->column = f->column;
	return r;
}

/* Adds a location with a single function, for code without inlined calls. */
static int add_frame(struct batch *b, const struct profile_location *l,
		     const struct symbol_frame *frame, uint32_t *out)
{
	struct profile_location with_line = *l;
	struct profile_line line;
	int r = add_line(b, frame, &line);

	with_line.n_lines = 1;
	with_line.lines = &line;
	return r < 0 ? r : profile_add_location(b->p, &with_line, out);
}

static int add_simple(struct batch *b, const struct profile_location *l, const char *name,
		      const char *file, uint32_t *out)
{
	return add_frame(b, l, &(struct symbol_frame){ .name = name, .file = file }, out);
}

/* Adds a frame whose text stands for a missing symbol, and notes why for the statistics. */
static int add_unnamed(struct batch *b, const struct profile_location *l, const char *text,
		       enum name_loss why, struct frame_location *w)
{
	w->lost = (uint8_t)why;
	return add_simple(b, l, text, "", &w->location);
}

/*
 * The last component of a path; names of frames omit the directory, which differs between machines.
 */
static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- native code --------------------------------------------------------------- */

struct open_job {
	const struct file_info *info;
	struct file_state *state;
};

static int open_image(void *ctx)
{
	struct open_job *job = ctx;
	int r = elf_image_open(&job->state->img, job->info->fd, NULL);

	if (r == 0) /* the segments are read now; the remainder is accessed sparsely */
		elf_image_release_pages(job->state->img);
	return r;
}

/*
 * A file that cannot be opened keeps its state without an image, so that the attempt is not
 * repeated for each address.
 */
static void open_file(struct frame_symbols *l, struct file_state *k, const struct file_info *info)
{
	struct open_job job = { info, k };
	struct symbolizer_file sf = {
		.fd = info->fd,
		.root_fd = info->root_fd,
		.debug_fd = info->debug_fd,
		.path = info->path,
	};

	(void)sigbus_run(open_image, &job);
	k->added = symbolizer_add_file(l->symbolizer, &sf, &k->symbolizer_id) == 0;
}

/* Returns NULL if there is no such file or memory ran out. */
static struct file_state *get_state(struct frame_symbols *l, uint32_t id,
				    const struct file_info *info)
{
	struct file_state *k;

	while (info && l->states.len <= id)
		if (vec_push(&l->states, (struct file_state){ 0 }) < 0)
			return NULL;
	if (!info)
		return NULL;
	k = &l->states.data[id];
	if (k->serial == info->serial)
		return k;
	if (k->added)
		symbolizer_release_file(l->symbolizer, k->symbolizer_id);
	state_reset(k);
	k->serial = info->serial;
	if (info->is_elf && info->fd >= 0)
		open_file(l, k, info);
	return k;
}

/*
 * Translates an offset in the current file to its virtual address, and adds the segment as a
 * mapping.
 */
static int native_location(struct batch *b, uint64_t off, struct profile_location *out)
{
	struct profile_mapping m = { .limit = UINT64_MAX, .has_functions = true };
	const struct elf_segment *seg;
	const struct elf_image *img = b->state->img;
	size_t n = img ? elf_image_segments(img, &seg) : 0;
	uint64_t vaddr = off;
	int r;

	if (img)
		(void)elf_image_vaddr_of(img, off, &vaddr);
	for (size_t i = 0; i < n; i++) {
		if (vaddr < seg[i].vaddr || vaddr - seg[i].vaddr >= seg[i].memsz)
			continue;
		m.start = seg[i].vaddr & ~4095ULL;
		m.limit = (seg[i].vaddr + seg[i].memsz + 4095) & ~4095ULL;
		m.file_off = seg[i].file_off & ~4095ULL;
	}
	*out = (struct profile_location){ .kind = PROFILE_FRAME_NATIVE, .address = vaddr };
	r = add_string(b, b->info->path, &m.file);
	if (r == 0)
		r = add_string(b, b->info->build_id_hex, &m.build_id);
	if (r == 0 && b->info->htl_hash[0])
		r = add_string(b, b->info->htl_hash, &m.htl_hash);
	return r < 0 ? r : profile_add_mapping(b->p, &m, &out->mapping);
}

static bool ends_in(const char *s, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && !memcmp(s + len - n, end, n);
}

/* Rust mangling: v0 begins with _R, the legacy scheme ends in h and a hash of 16 hex digits. */
static bool is_rust(const char *raw)
{
	size_t len = strlen(raw);

	if (!strncmp(raw, "_R", 2))
		return true;
	return len > 23 && !strncmp(raw, "_ZN", 3) && raw[len - 1] == 'E' &&
	       !strncmp(raw + len - 20, "17h", 3) &&
	       strspn(raw + len - 17, "0123456789abcdef") == 16;
}

/* The language of compiled code, which decides the color of its frames. */
static uint8_t native_kind(const struct symbol_frame *f)
{
	size_t len = f->file ? strlen(f->file) : 0;

	if (f->system_name && is_rust(f->system_name))
		return PROFILE_FRAME_RUST;
	if (len && (ends_in(f->file, len, ".go") || ends_in(f->file, len, "_amd64.s")))
		return PROFILE_FRAME_GO;
	return PROFILE_FRAME_NATIVE;
}

struct start_job {
	struct file_state *file;
	uint64_t vaddr, start;
};

static int find_start(void *ctx)
{
	struct start_job *job = ctx;
	struct file_state *k = job->file;
	int r = 0;

	if (!k->extents) {
		r = function_extents_new(&k->extents, k->img);
		k->entry = unwind_entry_is_start(k->img) ? elf_image_entry(k->img) : 0;
		k->n_threads = elf_thread_starts(k->img, k->threads);
	}
	return r < 0 ? r : function_extents_start(k->extents, job->vaddr, &job->start);
}

/* The name of functions that end stacks and are known without a symbol; NULL for others. */
static const char *root_name(const struct file_state *k, uint64_t vaddr, uint64_t start)
{
	if (k->entry && start == k->entry)
		return "_start";
	for (size_t i = 0; i < k->n_threads; i++)
		if (vaddr >= k->threads[i].start && vaddr < k->threads[i].end)
			return "[thread start]";
	return NULL;
}

/* Gives all addresses of a function the same name, its start address. */
static int resolve_unnamed(struct batch *b, const struct profile_location *l, bool is_late,
			   struct frame_location *w)
{
	bool is_refused = b->info->fd < 0 && !strcmp(b->info->path, FILE_TABLE_REFUSED);
	enum name_loss why = is_late ? NAME_LOSS_LATE : NAME_LOSS_NO_SYMBOL;
	struct start_job job = { .file = b->state, .vaddr = l->address };
	const char *root = NULL;
	uint64_t at = l->address;
	char name[320];

	if (b->state->img && sigbus_run(find_start, &job) == 0) {
		at = job.start;
		root = root_name(b->state, l->address, at);
	}
	if (root)
		return add_simple(b, l, root, "", &w->location);
	snprintf(name, sizeof(name), "[%.255s+0x%llx]", base_name(b->info->path),
		 (unsigned long long)at);
	return add_unnamed(b, l, name, is_refused ? NAME_LOSS_NOT_OPENED : why, w);
}

static uint32_t file_of(uint64_t word)
{
	return (uint32_t)((word & FRAME_PAYLOAD_MASK) >> FRAME_OFFSET_BITS);
}

/* Makes the file of @word the current one. Returns 0 or -ENOMEM. */
static int set_file(struct batch *b, uint64_t word)
{
	uint32_t id = file_of(word);

	if (b->state && b->file == id)
		return 0;
	b->file = id;
	b->info = file_get(b->l, id);
	b->state = get_state(b->l, id, b->info);
	return b->state ? 0 : -ENOMEM;
}

static struct address_cache_place cache_key(const struct batch *b, uint64_t word)
{
	return (struct address_cache_place){ word, b->info->serial };
}

/* A lookup in progress. */
struct lookup {
	struct batch *b;
	const uint64_t *words;
	bool is_answered[BATCH];
};

static int on_symbol(void *ctx, size_t cookie, const struct symbol_frame *frames, size_t n)
{
	struct lookup *q = ctx;
	struct address_cache_place place = cache_key(q->b, q->words[cookie]);

	q->is_answered[cookie] = true;
	return address_cache_put(q->b->l->cache, &place, frames, n);
}

/* Looks up @n words of the current file. */
static int look_up(struct batch *b, const uint64_t *words, size_t n)
{
	struct lookup q = { .b = b, .words = words };
	uint64_t offsets[BATCH];
	int r = 0;

	for (size_t i = 0; i < n; i++)
		offsets[i] = words[i] & FRAME_OFFSET_MASK;
	if (b->state->added)
		r = symbolizer_resolve(b->l->symbolizer, b->state->symbolizer_id, SYMBOLIZER_OFFSET,
				       offsets, n, on_symbol, &q);
	for (size_t i = 0; i < n && r == 0; i++) {
		struct address_cache_place place = cache_key(b, words[i]);

		if (!q.is_answered[i])
			r = address_cache_put(b->l->cache, &place, NULL, 0);
	}
	return r;
}

/*
 * Restarts the worker if it is above its limit: pages of debug files that it has mapped count
 * as its RSS until it exits.
 */
static void limit_worker(struct frame_symbols *l)
{
	pid_t pid = symbolizer_worker_pid(l->symbolizer);
	struct proc_usage u;

	if (!l->opts.worker_rss_bytes || !pid)
		return;
	proc_usage_read(pid, &u);
	if (u.rss_bytes > l->opts.worker_rss_bytes)
		symbolizer_stop_worker(l->symbolizer);
}

static int look_up_file(struct batch *b, const uint64_t *words, size_t n)
{
	int r = set_file(b, words[0]);

	for (size_t at = 0; at < n && r == 0; at += BATCH)
		r = look_up(b, words + at, n - at < BATCH ? n - at : BATCH);
	limit_worker(b->l);
	return r;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Returns true if the deadline for lookups has passed. */
static bool is_past_deadline(const struct frame_symbols *l)
{
	const _Atomic uint64_t *until = l->opts.symbolizer.until_ns;
	uint64_t until_ns = until ? atomic_load(until) : 0;

	return until_ns && clock_monotonic_ns() >= until_ns;
}

/* Collects those native words that are not in the cache, sorted. Returns 0 or -ENOMEM. */
static int find_unknown(struct batch *b, const struct frame_location *words, size_t n)
{
	const struct symbol_frame *frames;
	size_t n_frames;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		struct address_cache_place place;

		if (words[i].word >> FRAME_KIND_SHIFT != FRAME_NATIVE)
			continue;
		r = set_file(b, words[i].word);
		if (r < 0)
			break;
		place = cache_key(b, words[i].word);
		if (!address_cache_get(b->l->cache, &place, &frames, &n_frames))
			r = vec_push(&b->unknown, words[i].word);
	}
	if (b->unknown.len)
		qsort(b->unknown.data, b->unknown.len, sizeof(*b->unknown.data), by_value);
	return r;
}

/* Looks up the unknown words file by file. Returns -EAGAIN if @must_yield was set meanwhile. */
static int look_up_unknown(struct batch *b, const struct frame_location *words, size_t n,
			   const atomic_bool *must_yield)
{
	int r = find_unknown(b, words, n);
	size_t end;

	for (size_t i = 0; i < b->unknown.len && r == 0 && !is_past_deadline(b->l); i = end) {
		uint32_t file = file_of(b->unknown.data[i]);

		for (end = i + 1; end < b->unknown.len; end++)
			if (file_of(b->unknown.data[end]) != file)
				break;
		r = look_up_file(b, b->unknown.data + i, end - i);
		if (r == 0 && end < b->unknown.len && must_yield && atomic_load(must_yield))
			r = -EAGAIN;
	}
	vec_fini(&b->unknown);
	return r;
}

static int resolve_native(struct batch *b, struct frame_location *w)
{
	struct profile_line lines[ADDRESS_CACHE_FRAMES_MAX];
	const struct symbol_frame *frames;
	struct address_cache_place place;
	struct profile_location l;
	bool is_late = false;
	size_t n = 0;
	int r = set_file(b, w->word);

	if (r < 0)
		return r;
	place = cache_key(b, w->word);
	r = native_location(b, w->word & FRAME_OFFSET_MASK, &l);
	if (r < 0)
		return r;
	/* the cache may have dropped it during later lookups */
	if (!address_cache_get(b->l->cache, &place, &frames, &n)) {
		is_late = is_past_deadline(b->l);
		r = is_late ? 0 : look_up(b, &w->word, 1);
		if (r < 0)
			return r;
		if (!address_cache_get(b->l->cache, &place, &frames, &n))
			n = 0;
	}
	if (!n)
		return resolve_unnamed(b, &l, is_late, w);
	if (symbolizer_has_given_up(&frames[0]))
		w->lost = NAME_LOSS_GIVEN_UP;
	for (size_t i = 0; i < n && r == 0; i++)
		r = add_line(b, &frames[i], &lines[i]);
	l.kind = native_kind(&frames[0]);
	l.n_lines = (uint32_t)n;
	l.lines = lines;
	w->kind = l.kind;
	return r < 0 ? r : profile_add_location(b->p, &l, &w->location);
}

/* ---- other kinds of frames ----------------------------------------------------- */

static int resolve_kernel(struct batch *b, struct frame_location *w)
{
	/*
	 * one mapping for the kernel's half of the address space, so that modules and BPF
	 * programs are inside
	 */
	struct profile_mapping m = { .start = 1ULL << 63,
				     .limit = UINT64_MAX,
				     .has_functions = true };
	struct profile_location l = { .kind = PROFILE_FRAME_KERNEL, .address = w->word };
	struct kallsyms_symbol sym;
	char name[64];
	int r = add_string(b, "[kernel.kallsyms]", &m.file);

	if (r == 0)
		r = profile_add_mapping(b->p, &m, &l.mapping);
	if (r < 0)
		return r;
	if (kernel_symbols_find(b->l->kernel, w->word, clock_monotonic_ns(), &sym) == 0)
		return add_simple(b, &l, sym.name, sym.module, &w->location);
	snprintf(name, sizeof(name), "[kernel+0x%llx]", (unsigned long long)w->word);
	return add_unnamed(b, &l, name, NAME_LOSS_KERNEL, w);
}

/* Returns the name of generated code without a symbol, by the error of jit_symbols_find(). */
static const char *no_function_text(int error)
{
	if (error == -ENOENT)
		return "[anonymous code]";
	return error == -ETIMEDOUT || error == -ETIME ? "[anonymous code: symbol file is too slow]"
						      : "[anonymous code: symbol file not read]";
}

static enum name_loss no_function_reason(int error)
{
	if (error == -ENOENT)
		return NAME_LOSS_GENERATED;
	return error == -ETIMEDOUT || error == -ETIME ? NAME_LOSS_SLOW : NAME_LOSS_UNREAD;
}

/* Resolves generated code, or an address that leads nowhere. */
static int resolve_address(struct batch *b, struct frame_location *w)
{
	struct profile_location l = { .kind = PROFILE_FRAME_UNKNOWN,
				      .mapping = PROFILE_NONE,
				      .address = w->word & FRAME_PAYLOAD_MASK };
	struct symbol_frame frame;
	struct jit_symbols_function fn;
	const struct jit_symbols_address at = { w->pid, w->start_ns, l.address };
	int r = jit_symbols_find(b->l->opts.jits, &at, &fn);

	if (r < 0)
		return add_unnamed(b, &l, no_function_text(r), no_function_reason(r), w);
	frame = (struct symbol_frame){ .name = fn.name, .file = fn.file, .line = fn.line };
	return add_frame(b, &l, &frame, &w->location);
}

/* Returns why the function of a language runtime has no name. */
static enum name_loss lost_function(enum lang_function_state state)
{
	switch (state) {
	case LANG_FUNCTION_READ:
		return NAME_LOSS_NONE;
	case LANG_FUNCTION_STALE:
		return NAME_LOSS_STALE;
	case LANG_FUNCTION_UNREADABLE:
		return NAME_LOSS_UNREADABLE;
	case LANG_FUNCTION_FORGOTTEN:
		break;
	}
	return NAME_LOSS_FUNCTIONS_FULL;
}

/* Resolves a frame of a language runtime. It has no address; equal lines share a location. */
static int resolve_script(struct batch *b, struct frame_location *w)
{
	static const uint8_t kinds[LANG_MAX] = {
		[LANG_NONE] = PROFILE_FRAME_UNKNOWN,
#define X(sym, name) [LANG_##sym] = PROFILE_FRAME_##sym,
#include "bpf/shared/langs.def"
#undef X
	};
	struct profile_location l = { .mapping = PROFILE_NONE };
	struct symbol_frame frame;

	int r;

	/* the name is borrowed from tables that the sampling thread modifies */
	lock(b->l);
	l.kind = kinds[langs_symbolize(b->l->opts.langs, w->word, &frame)];
	w->lost = (uint8_t)lost_function(langs_function_state(b->l->opts.langs, w->word));
	w->is_approximate = frame.system_name != frame.name;
	if (b->l->opts.symbolizer.demangle == DEMANGLE_NO)
		frame.name = frame.system_name;
	r = add_frame(b, &l, &frame, &w->location);
	unlock(b->l);
	w->kind = l.kind;
	return r;
}

static int resolve_error(struct batch *b, struct frame_location *w)
{
	struct profile_location l = { .kind = PROFILE_FRAME_ERROR, .mapping = PROFILE_NONE };
	uint64_t error = w->word & FRAME_PAYLOAD_MASK;
	char name[80];

	if (error >= OFFCPU_ERR_NO_STACK && error < OFFCPU_ERR_MAX)
		return add_simple(b, &l, offcpu_error_text(error), "", &w->location);
	snprintf(name, sizeof(name), "[incomplete: %s]", unwind_error_text(error));
	return add_simple(b, &l, name, "", &w->location);
}

static int resolve_one(struct batch *b, struct frame_location *w)
{
	w->location = PROFILE_NONE;
	w->lost = NAME_LOSS_NONE;
	switch (w->word >> FRAME_KIND_SHIFT) {
	case FRAME_NATIVE:
		w->kind = PROFILE_FRAME_NATIVE;
		return resolve_native(b, w);
	case FRAME_KERNEL:
		w->kind = PROFILE_FRAME_KERNEL;
		return resolve_kernel(b, w);
	case FRAME_ADDRESS:
		w->kind = PROFILE_FRAME_UNKNOWN;
		return resolve_address(b, w);
	case FRAME_SCRIPT:
		return resolve_script(b, w);
	default:
		w->kind = PROFILE_FRAME_ERROR;
		return resolve_error(b, w);
	}
}

/* Has the files of runtimes read for all addresses of generated code among @words. */
static int look_up_generated(struct frame_symbols *l, const struct frame_location *words, size_t n)
{
	struct {
		VEC(struct jit_symbols_address);
	} addrs = { 0 };
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		if (words[i].word >> FRAME_KIND_SHIFT == FRAME_ADDRESS)
			r = vec_push(&addrs, (struct jit_symbols_address){
						     words[i].pid, words[i].start_ns,
						     words[i].word & FRAME_PAYLOAD_MASK });
	if (r == 0)
		r = jit_symbols_look_up(l->opts.jits, addrs.data, addrs.len);
	vec_fini(&addrs);
	return r;
}

int frame_symbols_prefetch(struct frame_symbols *l, const struct frame_location *words, size_t n)
{
	struct batch b = { .l = l };
	int r = look_up_generated(l, words, n);

	return r < 0 ? r : look_up_unknown(&b, words, n, l->opts.must_yield);
}

int frame_symbols_resolve(struct frame_symbols *l, struct profile *p, struct frame_location *words,
			  size_t n)
{
	struct batch b = { .l = l, .p = p };
	int r = look_up_unknown(&b, words, n, NULL);

	for (size_t i = 0; i < n && r == 0; i++)
		r = resolve_one(&b, &words[i]);
	return r;
}
