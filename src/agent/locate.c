/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A place that nobody can name is a frame all the same: [FILE+0xADDRESS],
 * [kernel+0xADDRESS], [anonymous code]. A walk that ended early leaves
 * [incomplete: why].
 */
#include "agent/locate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "agent/files.h"
#include "agent/jits.h"
#include "base/sigbus.h"
#include "base/vec.h"
#include "bpf/shared/abi.h"
#include "elf/image.h"
#include "lang/lang.h"
#include "profile/profile.h"
#include "symbol/kallsyms.h"
#include "unwind/walk.h"

enum { BATCH = 1024, INLINE_MAX = 256 };

/* What we know of one of the recording's files. */
struct known_file {
	bool tried;
	bool added; /* to the symbolizer, as symbolizer_id */
	uint32_t symbolizer_id;
	struct elf_image *img; /* NULL: not an ELF file */
};

struct locator {
	struct files *files;
	struct langs *langs;
	struct symbolizer *symbolizer;
	struct kallsyms *kallsyms;
	bool kallsyms_tried;
	struct {
		VEC(struct known_file);
	} known; /* by file id */
	struct jits *jits;
};

/* One call of locator_locate(). */
struct batch {
	struct locator *l;
	struct profile *p;
	struct located *words;
	struct {
		VEC(uint32_t);
	} order; /* indices into words, those of a file together */
	/* the file in work */
	uint32_t file;
	const struct file_info *info;
	const struct elf_image *img;
	size_t first; /* in order, of the addresses asked for now */
};

int locator_new(struct locator **out, struct files *files, struct jits *jits, struct langs *langs,
		const struct symbolizer_opts *opts)
{
	_cleanup_(locator_freep) struct locator *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	l->files = files;
	l->jits = jits;
	l->langs = langs;
	r = symbolizer_new(&l->symbolizer, opts);
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
	kallsyms_free(l->kallsyms);
	symbolizer_free(l->symbolizer);
	free(l);
}

void locator_counters(const struct locator *l, struct symbolizer_counters *out)
{
	symbolizer_counters(l->symbolizer, out);
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
	out->column = 0;
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

	return elf_image_open(&job->known->img, job->info->fd, NULL);
}

/* The root directory of a process that mapped the file: debug files may lie there. -1: gone. */
static int open_root(uint32_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/root", pid);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void file_introduce(struct locator *l, struct known_file *k, const struct file_info *info)
{
	struct open_job job = { info, k };
	_cleanup_(closep) int root = open_root(info->pid);
	struct symbolizer_file sf = {
		.fd = info->fd,
		.root_fd = root,
		.path = info->path,
	};

	(void)sigbus_run(open_image, &job);
	k->added = symbolizer_add_file(l->symbolizer, &sf, &k->symbolizer_id) == 0;
}

static struct known_file *file_known(struct locator *l, uint32_t id, const struct file_info *info)
{
	struct known_file *k;

	while (l->known.len <= id)
		if (vec_push(&l->known, (struct known_file){ 0 }) < 0)
			return NULL;
	k = &l->known.data[id];
	if (!k->tried && info->is_elf && info->fd >= 0)
		file_introduce(l, k, info);
	k->tried = true;
	return k;
}

/* Where an offset of the file in work is in the file's own terms, and its segment as a mapping. */
static int native_place(struct batch *b, uint64_t off, struct profile_location *out)
{
	struct profile_mapping m = { .limit = UINT64_MAX, .has_functions = true };
	const struct elf_segment *seg;
	size_t n = b->img ? elf_image_segments(b->img, &seg) : 0;
	uint64_t vaddr = off;
	int r;

	if (b->img)
		(void)elf_image_vaddr_of(b->img, off, &vaddr);
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

static int on_answer(void *ctx, size_t cookie, const struct symbol_frame *frames, size_t n_frames)
{
	struct batch *b = ctx;
	struct located *w = &b->words[b->order.data[b->first + cookie]];
	size_t n = n_frames < INLINE_MAX ? n_frames : INLINE_MAX;
	struct profile_line lines[INLINE_MAX];
	struct profile_location l;
	int r = native_place(b, w->word & FRAME_OFFSET_MASK, &l);

	for (size_t i = 0; i < n && r == 0; i++)
		r = add_line(b, &frames[i], &lines[i]);
	l.kind = native_kind(&frames[0]);
	l.n_lines = (uint32_t)n;
	l.lines = lines;
	return r < 0 ? r : profile_add_location(b->p, &l, &w->location);
}

static int locate_unnamed(struct batch *b, struct located *w)
{
	struct profile_location l;
	char name[320];
	int r = native_place(b, w->word & FRAME_OFFSET_MASK, &l);

	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "[%.255s+0x%llx]", base_name(b->info->path),
		 (unsigned long long)l.address);
	return add_unnamed(b, &l, name, w);
}

/* Ask for order[first, first + n), which are of the file in work. */
static int ask(struct batch *b, const struct known_file *k, size_t n)
{
	uint64_t offsets[BATCH];
	int r = 0;

	for (size_t i = 0; i < n; i++)
		offsets[i] = b->words[b->order.data[b->first + i]].word & FRAME_OFFSET_MASK;
	if (k->added)
		r = symbolizer_ask(b->l->symbolizer, k->symbolizer_id, SYMBOLIZER_OFFSET, offsets,
				   n, on_answer, b);
	for (size_t i = 0; i < n && r == 0; i++) {
		struct located *w = &b->words[b->order.data[b->first + i]];

		if (w->location == PROFILE_NONE)
			r = locate_unnamed(b, w);
	}
	return r;
}

static uint32_t file_of(uint64_t word)
{
	return (uint32_t)((word & FRAME_PAYLOAD_MASK) >> FRAME_OFFSET_BITS);
}

static int locate_file(struct batch *b, size_t first, size_t end)
{
	struct known_file *k;
	int r = 0;

	b->file = file_of(b->words[b->order.data[first]].word);
	b->info = files_get(b->l->files, b->file);
	k = b->info ? file_known(b->l, b->file, b->info) : NULL;
	if (!k)
		return -ENOMEM;
	b->img = k->img;
	for (b->first = first; b->first < end && r == 0; b->first += BATCH)
		r = ask(b, k, end - b->first < BATCH ? end - b->first : BATCH);
	return r;
}

static int by_word(const void *a, const void *b, void *ctx)
{
	const struct located *words = ctx;
	uint64_t x = words[*(const uint32_t *)a].word, y = words[*(const uint32_t *)b].word;

	return x < y ? -1 : x > y;
}

/* All native words, file by file. */
static int locate_native(struct batch *b)
{
	size_t i = 0, end;
	int r = 0;

	if (b->order.len)
		qsort_r(b->order.data, b->order.len, sizeof(*b->order.data), by_word, b->words);
	while (i < b->order.len && r == 0) {
		uint32_t file = file_of(b->words[b->order.data[i]].word);

		for (end = i + 1; end < b->order.len; end++)
			if (file_of(b->words[b->order.data[end]].word) != file)
				break;
		r = locate_file(b, i, end);
		i = end;
	}
	return r;
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

	if (jits_find(b->l->jits, w->pid, l.address, &fn) < 0)
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

	l.kind = kinds[langs_name(b->l->langs, w->word, &frame)];
	return add_frame(b, &l, &frame, &w->location);
}

static int locate_error(struct batch *b, struct located *w)
{
	struct profile_location l = { .kind = PROFILE_FRAME_ERROR, .mapping = PROFILE_NONE };
	char name[80];

	snprintf(name, sizeof(name), "[incomplete: %s]",
		 unwind_error_text(w->word & FRAME_PAYLOAD_MASK));
	return add_simple(b, &l, name, "", &w->location);
}

static int locate_one(struct batch *b, uint32_t i)
{
	struct located *w = &b->words[i];

	w->location = PROFILE_NONE;
	w->unnamed = false;
	switch (w->word >> FRAME_KIND_SHIFT) {
	case FRAME_NATIVE:
		return vec_push(&b->order, i);
	case FRAME_KERNEL:
		return locate_kernel(b, w);
	case FRAME_ADDRESS:
		return locate_address(b, w);
	case FRAME_SCRIPT:
		return locate_script(b, w);
	default:
		return locate_error(b, w);
	}
}

int locator_locate(struct locator *l, struct profile *p, struct located *words, size_t n)
{
	struct batch b = { .l = l, .p = p, .words = words };
	int r = 0;

	jits_refresh(l->jits);
	for (size_t i = 0; i < n && r == 0; i++)
		r = locate_one(&b, (uint32_t)i);
	if (r == 0)
		r = locate_native(&b);
	vec_fini(&b.order);
	return r;
}
