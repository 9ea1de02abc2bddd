/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A place that nobody can name is a frame all the same: [FILE+0xADDRESS],
 * [kernel+0xADDRESS], [anonymous code]. A walk that ended early leaves
 * [incomplete: why].
 */
#include "agent/locate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "agent/answers.h"
#include "agent/files.h"
#include "agent/jits.h"
#include "agent/offcpu.h"
#include "agent/usage.h"
#include "base/clock.h"
#include "base/sigbus.h"
#include "base/vec.h"
#include "bpf/shared/abi.h"
#include "elf/eh_frame_hdr.h"
#include "elf/image.h"
#include "lang/lang.h"
#include "profile/profile.h"
#include "symbol/demangle.h"
#include "symbol/kallsyms.h"
#include "unwind/walk.h"

enum {
	BATCH = 1024,
	SYMBOLIZER_FILES_MAX = 4096, /* each holds descriptors: beyond, all are forgotten */
	REST_AFTER = 2,              /* batches in which nothing new was asked for */
};

/* What we know of one of the recording's files. */
struct known_file {
	uint64_t serial; /* 0: nothing */
	bool added;      /* to the symbolizer, as symbolizer_id */
	uint32_t symbolizer_id;
	struct elf_image *img; /* NULL: not an ELF file */
};

struct locator {
	struct locator_opts opts;
	struct symbolizer *symbolizer;
	struct kallsyms *kallsyms;
	bool kallsyms_tried;
	struct {
		VEC(struct known_file);
	} known; /* by file id */
	struct answers *answers;
	struct symbolizer_counters former; /* of symbolizers that are gone */
	uint64_t asked;                    /* when it was last looked at */
	unsigned int n_quiet;
};

/* One call of locator_locate(). */
struct batch {
	struct locator *l;
	struct profile *p;
	struct {
		VEC(uint64_t);
	} unknown; /* native words to be asked for */
	/* the file in work */
	uint32_t file;
	const struct file_info *info;
	const struct known_file *known;
};

int locator_new(struct locator **out, const struct locator_opts *opts)
{
	_cleanup_(locator_freep) struct locator *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	l->opts = *opts;
	r = answers_new(&l->answers, opts->answers_bytes);
	if (r == 0)
		r = symbolizer_new(&l->symbolizer, &opts->symbolizer);
	if (r < 0)
		return r;
	*out = steal_ptr(&l);
	return 0;
}

void locator_free(struct locator *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->known.len; i++)
		elf_image_free(l->known.data[i].img);
	vec_fini(&l->known);
	answers_free(l->answers);
	kallsyms_free(l->kallsyms);
	symbolizer_free(l->symbolizer);
	free(l);
}

static void lock(struct locator *l)
{
	if (l->opts.lock)
		pthread_mutex_lock(l->opts.lock);
}

static void unlock(struct locator *l)
{
	if (l->opts.lock)
		pthread_mutex_unlock(l->opts.lock);
}

/* The file does not go as long as a window that is being named has words of it. */
static const struct file_info *file_get(struct locator *l, uint32_t id)
{
	const struct file_info *info;

	lock(l);
	info = files_get(l->opts.files, id);
	unlock(l);
	return info;
}

size_t locator_bytes(const struct locator *l)
{
	struct symbolizer_counters c;

	symbolizer_counters(l->symbolizer, &c);
	return answers_bytes(l->answers) + c.bytes;
}

int locator_worker_pid(const struct locator *l)
{
	return (int)symbolizer_worker_pid(l->symbolizer);
}

/* The sum of what it and those before it did. */
void locator_counters(const struct locator *l, struct symbolizer_counters *out)
{
	symbolizer_counters(l->symbolizer, out);
	out->asked += l->former.asked;
	out->worker_restarts += l->former.worker_restarts;
	out->files_given_up += l->former.files_given_up;
	for (int i = 0; i < SYMBOLIZER_SOURCE_MAX; i++)
		out->by_source[i] += l->former.by_source[i];
}

/* Another symbolizer, which knows no file. */
static void symbolizer_renew(struct locator *l)
{
	struct symbolizer *fresh;

	if (symbolizer_new(&fresh, &l->opts.symbolizer) < 0)
		return;
	locator_counters(l, &l->former);
	symbolizer_free(l->symbolizer);
	l->symbolizer = fresh;
	for (size_t i = 0; i < l->known.len; i++) {
		elf_image_free(l->known.data[i].img);
		l->known.data[i] = (struct known_file){ 0 };
	}
}

void locator_trim(struct locator *l)
{
	answers_clear(l->answers);
	symbolizer_renew(l);
}

void locator_rest(struct locator *l)
{
	struct symbolizer_counters c;

	symbolizer_counters(l->symbolizer, &c);
	l->n_quiet = c.asked == l->asked ? l->n_quiet + 1 : 0;
	l->asked = c.asked;
	if (c.files > SYMBOLIZER_FILES_MAX)
		symbolizer_renew(l);
	else if (l->n_quiet == REST_AFTER)
		symbolizer_rest(l->symbolizer);
}

/* ---- what the pieces are made of ------------------------------------------- */

static int add_string(struct batch *b, const char *s, uint32_t *out)
{
	return profile_add_string(b->p, s, strlen(s), out);
}

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

/* A location with one function, for what has no inlined calls. */
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

static int add_unnamed(struct batch *b, const struct profile_location *l, const char *text,
		       struct located *w)
{
	w->unnamed = true;
	return add_simple(b, l, text, "", &w->location);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- native code ----------------------------------------------------------- */

struct open_job {
	const struct file_info *info;
	struct known_file *known;
};

static int open_image(void *ctx)
{
	struct open_job *job = ctx;
	int r = elf_image_open(&job->known->img, job->info->fd, NULL);

	if (r == 0) /* its segments are read; of the rest a page here and there is asked for */
		elf_image_rest(job->known->img);
	return r;
}

static void file_introduce(struct locator *l, struct known_file *k, const struct file_info *info)
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

/* NULL: there is no such file, or no memory. */
static const struct known_file *file_known(struct locator *l, uint32_t id,
					   const struct file_info *info)
{
	struct known_file *k;

	while (info && l->known.len <= id)
		if (vec_push(&l->known, (struct known_file){ 0 }) < 0)
			return NULL;
	if (!info)
		return NULL;
	k = &l->known.data[id];
	if (k->serial == info->serial)
		return k;
	elf_image_free(k->img);
	if (k->added)
		symbolizer_release_file(l->symbolizer, k->symbolizer_id);
	*k = (struct known_file){ .serial = info->serial };
	if (info->is_elf && info->fd >= 0)
		file_introduce(l, k, info);
	return k;
}

/* Where an offset of the file in work is in the file's own terms, and its segment as a mapping. */
static int native_place(struct batch *b, uint64_t off, struct profile_location *out)
{
	struct profile_mapping m = { .limit = UINT64_MAX, .has_functions = true };
	const struct elf_segment *seg;
	const struct elf_image *img = b->known->img;
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

/* Rust's mangling: v0 begins with _R, the older one ends in h and a hash of 16 hex digits. */
static bool is_rust(const char *raw)
{
	size_t len = strlen(raw);

	if (!strncmp(raw, "_R", 2))
		return true;
	return len > 23 && !strncmp(raw, "_ZN", 3) && raw[len - 1] == 'E' &&
	       !strncmp(raw + len - 20, "17h", 3) &&
	       strspn(raw + len - 17, "0123456789abcdef") == 16;
}

/* The language of compiled code, which decides its colour. */
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
	const struct elf_image *img;
	uint64_t vaddr, start;
};

static int find_start(void *ctx)
{
	struct start_job *job = ctx;

	return eh_frame_function_at(job->img, job->vaddr, &job->start);
}

/* One name for all of a function: the address where it begins, if its file tells. */
static int locate_unnamed(struct batch *b, const struct profile_location *l, struct located *w)
{
	struct start_job job = { .img = b->known->img, .vaddr = l->address };
	uint64_t at = l->address;
	char name[320];

	if (job.img && sigbus_run(find_start, &job) == 0)
		at = job.start;
	snprintf(name, sizeof(name), "[%.255s+0x%llx]", base_name(b->info->path),
		 (unsigned long long)at);
	return add_unnamed(b, l, name, w);
}

static uint32_t file_of(uint64_t word)
{
	return (uint32_t)((word & FRAME_PAYLOAD_MASK) >> FRAME_OFFSET_BITS);
}

/* Make the file of @word the one in work. 0 or -ENOMEM. */
static int enter_file(struct batch *b, uint64_t word)
{
	uint32_t id = file_of(word);

	if (b->known && b->file == id)
		return 0;
	b->file = id;
	b->info = file_get(b->l, id);
	b->known = file_known(b->l, id, b->info);
	return b->known ? 0 : -ENOMEM;
}

static struct answers_place place_of(const struct batch *b, uint64_t word)
{
	return (struct answers_place){ word, b->info->serial };
}

/* A question under way. */
struct asking {
	struct batch *b;
	const uint64_t *words;
	bool answered[BATCH];
};

static int on_answer(void *ctx, size_t cookie, const struct symbol_frame *frames, size_t n)
{
	struct asking *q = ctx;
	struct answers_place place = place_of(q->b, q->words[cookie]);

	q->answered[cookie] = true;
	return answers_put(q->b->l->answers, &place, frames, n);
}

/* Ask for @n words of the file in work. */
static int ask(struct batch *b, const uint64_t *words, size_t n)
{
	struct asking q = { .b = b, .words = words };
	uint64_t offsets[BATCH];
	int r = 0;

	for (size_t i = 0; i < n; i++)
		offsets[i] = words[i] & FRAME_OFFSET_MASK;
	if (b->known->added)
		r = symbolizer_ask(b->l->symbolizer, b->known->symbolizer_id, SYMBOLIZER_OFFSET,
				   offsets, n, on_answer, &q);
	for (size_t i = 0; i < n && r == 0; i++) {
		struct answers_place place = place_of(b, words[i]);

		if (!q.answered[i])
			r = answers_put(b->l->answers, &place, NULL, 0);
	}
	return r;
}

/* What it has mapped of debug files stays with it until it ends. */
static void bound_worker(struct locator *l)
{
	pid_t pid = symbolizer_worker_pid(l->symbolizer);
	struct usage u;

	if (!l->opts.worker_rss_bytes || !pid)
		return;
	usage_read(pid, &u);
	if (u.rss_bytes > l->opts.worker_rss_bytes)
		symbolizer_rest(l->symbolizer);
}

static int ask_file(struct batch *b, const uint64_t *words, size_t n)
{
	int r = enter_file(b, words[0]);

	for (size_t at = 0; at < n && r == 0; at += BATCH)
		r = ask(b, words + at, n - at < BATCH ? n - at : BATCH);
	bound_worker(b->l);
	return r;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* There is no time to ask for more. */
static bool is_over(const struct locator *l)
{
	const _Atomic uint64_t *until = l->opts.symbolizer.until_ns;
	uint64_t until_ns = until ? atomic_load(until) : 0;

	return until_ns && clock_monotonic_ns() >= until_ns;
}

/* The native ones of @words whose names are not known yet, in order. 0 or -ENOMEM. */
static int find_unknown(struct batch *b, const struct located *words, size_t n)
{
	const struct symbol_frame *frames;
	size_t n_frames;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		struct answers_place place;

		if (words[i].word >> FRAME_KIND_SHIFT != FRAME_NATIVE)
			continue;
		r = enter_file(b, words[i].word);
		if (r < 0)
			break;
		place = place_of(b, words[i].word);
		if (!answers_get(b->l->answers, &place, &frames, &n_frames))
			r = vec_push(&b->unknown, words[i].word);
	}
	if (b->unknown.len)
		qsort(b->unknown.data, b->unknown.len, sizeof(*b->unknown.data), by_value);
	return r;
}

/* Ask for those, file by file, until it is not wanted any more: -EAGAIN. */
static int learn(struct batch *b, const struct located *words, size_t n,
		 const atomic_bool *gives_way)
{
	int r = find_unknown(b, words, n);
	size_t end;

	for (size_t i = 0; i < b->unknown.len && r == 0 && !is_over(b->l); i = end) {
		uint32_t file = file_of(b->unknown.data[i]);

		for (end = i + 1; end < b->unknown.len; end++)
			if (file_of(b->unknown.data[end]) != file)
				break;
		r = ask_file(b, b->unknown.data + i, end - i);
		if (r == 0 && end < b->unknown.len && gives_way && atomic_load(gives_way))
			r = -EAGAIN;
	}
	vec_fini(&b->unknown);
	return r;
}

static int locate_native(struct batch *b, struct located *w)
{
	struct profile_line lines[ANSWER_FRAMES_MAX];
	const struct symbol_frame *frames;
	struct answers_place place;
	struct profile_location l;
	size_t n = 0;
	int r = enter_file(b, w->word);

	if (r < 0)
		return r;
	place = place_of(b, w->word);
	r = native_place(b, w->word & FRAME_OFFSET_MASK, &l);
	if (r < 0)
		return r;
	/* it may have been forgotten while others were asked for */
	if (!answers_get(b->l->answers, &place, &frames, &n)) {
		r = is_over(b->l) ? 0 : ask(b, &w->word, 1);
		if (r < 0)
			return r;
		if (!answers_get(b->l->answers, &place, &frames, &n))
			n = 0;
	}
	if (!n)
		return locate_unnamed(b, &l, w);
	for (size_t i = 0; i < n && r == 0; i++)
		r = add_line(b, &frames[i], &lines[i]);
	l.kind = native_kind(&frames[0]);
	l.n_lines = (uint32_t)n;
	l.lines = lines;
	w->kind = l.kind;
	return r < 0 ? r : profile_add_location(b->p, &l, &w->location);
}

/* ---- the other kinds ------------------------------------------------------- */

static const struct kallsyms *kernel_symbols(struct locator *l)
{
	if (!l->kallsyms_tried)
		(void)kallsyms_load(&l->kallsyms, NULL);
	l->kallsyms_tried = true;
	return l->kallsyms;
}

static int locate_kernel(struct batch *b, struct located *w)
{
	/* all of the kernel's half, so that modules and BPF programs lie inside */
	struct profile_mapping m = { .start = 1ULL << 63,
				     .limit = UINT64_MAX,
				     .has_functions = true };
	struct profile_location l = { .kind = PROFILE_FRAME_KERNEL, .address = w->word };
	const struct kallsyms *k = kernel_symbols(b->l);
	struct kallsyms_symbol sym;
	char name[64];
	int r = add_string(b, "[kernel.kallsyms]", &m.file);

	if (r == 0)
		r = profile_add_mapping(b->p, &m, &l.mapping);
	if (r < 0)
		return r;
	if (k && kallsyms_find(k, w->word, &sym) == 0)
		return add_simple(b, &l, sym.name, sym.module, &w->location);
	snprintf(name, sizeof(name), "[kernel+0x%llx]", (unsigned long long)w->word);
	return add_unnamed(b, &l, name, w);
}

/* Generated code, or an address that leads nowhere. */
static int locate_address(struct batch *b, struct located *w)
{
	struct profile_location l = { .kind = PROFILE_FRAME_UNKNOWN,
				      .mapping = PROFILE_NONE,
				      .address = w->word & FRAME_PAYLOAD_MASK };
	struct symbol_frame frame;
	struct jits_function fn;

	if (jits_find(b->l->opts.jits, w->pid, l.address, &fn) < 0)
		return add_unnamed(b, &l, "[anonymous code]", w);
	frame = (struct symbol_frame){ .name = fn.name, .file = fn.file, .line = fn.line };
	return add_frame(b, &l, &frame, &w->location);
}

/* A virtual machine's: it has no address, equal lines are one location. */
static int locate_script(struct batch *b, struct located *w)
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

	/* the name is borrowed from what the sampling thread reads into */
	lock(b->l);
	l.kind = kinds[langs_name(b->l->opts.langs, w->word, &frame)];
	w->near = frame.system_name != frame.name;
	if (b->l->opts.symbolizer.demangle == DEMANGLE_NO)
		frame.name = frame.system_name;
	r = add_frame(b, &l, &frame, &w->location);
	unlock(b->l);
	w->kind = l.kind;
	return r;
}

static int locate_error(struct batch *b, struct located *w)
{
	struct profile_location l = { .kind = PROFILE_FRAME_ERROR, .mapping = PROFILE_NONE };
	uint64_t why = w->word & FRAME_PAYLOAD_MASK;
	char name[80];

	if (why >= OFF_NO_STACK && why < OFF_WORD_MAX)
		return add_simple(b, &l, off_word_text(why), "", &w->location);
	snprintf(name, sizeof(name), "[incomplete: %s]", unwind_error_text(why));
	return add_simple(b, &l, name, "", &w->location);
}

static int locate_one(struct batch *b, struct located *w)
{
	w->location = PROFILE_NONE;
	w->unnamed = false;
	switch (w->word >> FRAME_KIND_SHIFT) {
	case FRAME_NATIVE:
		w->kind = PROFILE_FRAME_NATIVE;
		return locate_native(b, w);
	case FRAME_KERNEL:
		w->kind = PROFILE_FRAME_KERNEL;
		return locate_kernel(b, w);
	case FRAME_ADDRESS:
		w->kind = PROFILE_FRAME_UNKNOWN;
		return locate_address(b, w);
	case FRAME_SCRIPT:
		return locate_script(b, w);
	default:
		w->kind = PROFILE_FRAME_ERROR;
		return locate_error(b, w);
	}
}

int locator_learn(struct locator *l, const struct located *words, size_t n)
{
	struct batch b = { .l = l };

	jits_refresh(l->opts.jits);
	return learn(&b, words, n, l->opts.gives_way);
}

int locator_locate(struct locator *l, struct profile *p, struct located *words, size_t n)
{
	struct batch b = { .l = l, .p = p };
	int r = learn(&b, words, n, NULL);

	for (size_t i = 0; i < n && r == 0; i++)
		r = locate_one(&b, &words[i]);
	return r;
}
