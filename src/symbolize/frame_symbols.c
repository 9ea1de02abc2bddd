/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An address without a symbol still becomes a frame: [FILE+0xADDRESS], [kernel+0xADDRESS] or
 * [anonymous code]. A walk that ended early adds [incomplete: REASON] as the outermost frame.
 */
#include "symbolize/frame_symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/vec.h"
#include "bpf/shared/abi.h"
#include "lang/lang.h"
#include "process/file_table.h"
#include "process/jit_symbols.h"
#include "profile/profile.h"
#include "profiler/off_texts.h"
#include "profiler/resident.h"
#include "symbol/demangle.h"
#include "symbol/kernel_symbols.h"
#include "symbolize/address_cache.h"
#include "symbolize/native_symbols.h"
#include "unwind/walk.h"

struct frame_symbols {
	struct frame_symbols_opts opts;
	struct native_symbols *native;
	struct kernel_symbols *kernel;
};

/* One call of frame_symbols_resolve(). */
struct batch {
	struct frame_symbols *l;
	struct profile *p;
	struct native_file file; /* of the latest native word */
};

int frame_symbols_new(struct frame_symbols **out, const struct frame_symbols_opts *opts)
{
	_cleanup_(frame_symbols_freep) struct frame_symbols *l = calloc(1, sizeof(*l));
	const struct native_symbols_opts native = {
		.files = opts->files,
		.lock = opts->lock,
		.address_cache_bytes = opts->address_cache_bytes,
		.worker_rss_bytes = opts->worker_rss_bytes,
		.symbolizer = opts->symbolizer,
	};
	int r;

	if (!l)
		return -ENOMEM;
	l->opts = *opts;
	r = kernel_symbols_new(&l->kernel, opts->kernel_changes, NULL);
	if (r == 0)
		r = native_symbols_new(&l->native, &native);
	if (r < 0)
		return r;
	*out = steal_ptr(&l);
	return 0;
}

void frame_symbols_free(struct frame_symbols *l)
{
	if (!l)
		return;
	kernel_symbols_free(l->kernel);
	native_symbols_free(l->native);
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

size_t frame_symbols_bytes(const struct frame_symbols *l)
{
	return native_symbols_bytes(l->native);
}

int frame_symbols_worker_pid(const struct frame_symbols *l)
{
	return native_symbols_worker_pid(l->native);
}

void frame_symbols_counters(const struct frame_symbols *l, struct symbolizer_counters *out)
{
	native_symbols_counters(l->native, out);
}

void frame_symbols_trim(struct frame_symbols *l)
{
	native_symbols_trim(l->native);
}

void frame_symbols_end_batch(struct frame_symbols *l)
{
	native_symbols_end_batch(l->native);
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

/* Makes the location of a word of the current file, with its segment as the mapping. */
static int native_location(struct batch *b, uint64_t off, struct profile_location *out)
{
	const struct file_info *info = b->file.info;
	struct native_place place;
	struct profile_mapping m = { .has_functions = true };
	int r;

	native_symbols_place(b->l->native, &b->file, off, &place);
	m.start = place.start;
	m.limit = place.limit;
	m.file_off = place.file_off;
	*out = (struct profile_location){ .kind = PROFILE_FRAME_NATIVE, .address = place.vaddr };
	r = add_string(b, info->path, &m.file);
	if (r == 0)
		r = add_string(b, info->build_id_hex, &m.build_id);
	if (r == 0 && info->htl_hash[0])
		r = add_string(b, info->htl_hash, &m.htl_hash);
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

/* Names an address of a file that was not read, or not in time. */
static int resolve_unread(struct batch *b, const struct profile_location *l, bool is_late,
			  struct frame_location *w)
{
	const struct file_info *info = b->file.info;
	enum name_loss why = is_late ? NAME_LOSS_LATE : NAME_LOSS_NO_SYMBOL;
	char name[320];

	/* a path in brackets is the reason why a file was not opened */
	if (info->fd < 0 && !strcmp(info->path, FILE_TABLE_REFUSED))
		return add_unnamed(b, l, info->path, NAME_LOSS_NOT_OPENED, w);
	if (info->fd < 0 && !strcmp(info->path, FILE_TABLE_UNREAD))
		return add_unnamed(b, l, info->path, NAME_LOSS_FILE_UNREAD, w);
	if (info->is_elf || info->fd < 0)
		snprintf(name, sizeof(name), "[%.255s+0x%llx]", base_name(info->path),
			 (unsigned long long)l->address);
	else /* no source shows where the functions of this file begin (SBCL's core) */
		snprintf(name, sizeof(name), "[%.255s]", base_name(info->path));
	return add_unnamed(b, l, name, why, w);
}

/* Returns why a frame has no name. */
static enum name_loss lost_symbol(const struct symbol_frame *f)
{
	switch ((enum symbol_missing)f->missing) {
	case SYMBOL_FOUND:
		return NAME_LOSS_NONE;
	case SYMBOL_GIVEN_UP:
		return NAME_LOSS_GIVEN_UP;
	case SYMBOL_NO_SYMBOLIZER:
		return NAME_LOSS_NO_SYMBOLIZER;
	case SYMBOL_NONE:
		break;
	}
	return NAME_LOSS_NO_SYMBOL;
}

static int resolve_native(struct batch *b, struct frame_location *w)
{
	struct profile_line lines[ADDRESS_CACHE_FRAMES_MAX];
	const struct symbol_frame *frames;
	struct profile_location l;
	bool is_late;
	size_t n = 0;
	int r = native_symbols_select(b->l->native, w->word, &b->file);

	if (r == 0)
		r = native_location(b, w->word & FRAME_OFFSET_MASK, &l);
	if (r < 0)
		return r;
	if (b->l->opts.langs)
		langs_note_sample(b->l->opts.langs, &b->file.info->lang,
				  w->word & FRAME_OFFSET_MASK, b->file.info->path);
	r = native_symbols_find(b->l->native, &b->file, w->word, &frames, &n);
	is_late = r == NATIVE_SYMBOLS_LATE;
	if (r < 0)
		return r;
	if (!n)
		return resolve_unread(b, &l, is_late, w);
	w->lost = (uint8_t)lost_symbol(&frames[0]);
	r = 0;
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

/* Resolves generated code, or an address outside of all mappings. */
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
	case LANG_FUNCTION_LATE:
		return NAME_LOSS_FRAMES_LATE;
	case LANG_FUNCTION_FORGOTTEN:
		break;
	}
	return NAME_LOSS_FUNCTIONS_FULL;
}

/*
 * Resolves a frame of a language runtime. Its address is not one of memory; equal lines share a
 * location.
 */
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
	l.address = frame.address;
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

/* A text in place of a frame: a reason in brackets, or the path of a file. */
static int resolve_text(struct batch *b, struct frame_location *w)
{
	const struct resident *resident = b->l->opts.resident;
	const char *text = resident ? resident_text(resident, w->word & FRAME_PAYLOAD_MASK) : "";
	struct profile_location l = {
		.kind = text[0] == '[' ? PROFILE_FRAME_ERROR : PROFILE_FRAME_NATIVE,
		.mapping = PROFILE_NONE,
	};

	w->kind = l.kind;
	return add_simple(b, &l, text, "", &w->location);
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
	case FRAME_TEXT:
		return resolve_text(b, w);
	case FRAME_WAKER: /* its frame is made by wait_frames.h */
		w->kind = PROFILE_FRAME_ERROR;
		return 0;
	default:
		w->kind = PROFILE_FRAME_ERROR;
		return resolve_error(b, w);
	}
}

/*
 * Reads the files in which runtimes describe their generated code, for all such addresses among
 * @words.
 */
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
		r = jit_symbols_look_up(l->opts.jits, addrs.data, addrs.len,
					l->opts.symbolizer.until_ns);
	vec_fini(&addrs);
	return r;
}

/* Looks up the native words among @words. Returns -EAGAIN if @must_yield was set meanwhile. */
static int look_up_native(struct frame_symbols *l, const struct frame_location *words, size_t n,
			  const atomic_bool *must_yield)
{
	struct {
		VEC(uint64_t);
	} native = { 0 };
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		if (words[i].word >> FRAME_KIND_SHIFT == FRAME_NATIVE)
			r = vec_push(&native, words[i].word);
	if (r == 0)
		r = native_symbols_prefetch(l->native, native.data, native.len, must_yield);
	vec_fini(&native);
	return r;
}

int frame_symbols_prefetch(struct frame_symbols *l, const struct frame_location *words, size_t n)
{
	int r = look_up_generated(l, words, n);

	return r < 0 ? r : look_up_native(l, words, n, l->opts.must_yield);
}

int frame_symbols_resolve(struct frame_symbols *l, struct profile *p, struct frame_location *words,
			  size_t n)
{
	struct batch b = { .l = l, .p = p };
	int r = look_up_native(l, words, n, NULL);

	for (size_t i = 0; i < n && r == 0; i++)
		r = resolve_one(&b, &words[i]);
	return r;
}
