/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is opened on the first request for its key. DWARF comes from the file
 * itself or else from its separate debug file. Symbols of the debug file or of
 * .gnu_debugdata cover functions without DWARF. The parent reads the file's
 * own .symtab and .dynsym.
 *
 * Over the budget, the least recently used file is closed. If a single file
 * exceeds the budget, its tables are dropped and built again on demand.
 */
#include "symbol/worker_files.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/vec.h"
#include "dwarf/dwarf.h"
#include "elf/image.h"
#include "elf/minidebug.h"
#include "elf/symtab.h"

struct file {
	uint64_t key;
	uint64_t used;                /* value of worker_files.calls at the last use */
	struct dwarf *dwarf;          /* NULL: absent or unreadable */
	struct elf_symtab *minidebug; /* of .gnu_debugdata; NULL: absent */
	struct elf_symtab *symbols;   /* of the debug file; NULL: absent */
};

/* Every open file is mapped; the limit bounds address space and the search by key. */
enum { FILES_MAX = 1024 };

struct worker_files {
	size_t max_bytes;
	size_t last; /* index in files of the previous request */
	worker_need_fn need;
	void *need_ctx;
	uint64_t calls;
	struct {
		VEC(struct file);
	} files;
};

static void file_fini(struct file *f)
{
	dwarf_free(f->dwarf);
	elf_symtab_free(f->minidebug);
	elf_symtab_free(f->symbols);
}

int worker_files_new(struct worker_files **out, size_t max_bytes, worker_need_fn need, void *ctx)
{
	struct worker_files *fs = calloc(1, sizeof(*fs));

	if (!fs)
		return -ENOMEM;
	fs->max_bytes = max_bytes;
	fs->need = need;
	fs->need_ctx = ctx;
	*out = fs;
	return 0;
}

void worker_files_free(struct worker_files *fs)
{
	if (!fs)
		return;
	for (size_t i = 0; i < fs->files.len; i++)
		file_fini(&fs->files.data[i]);
	vec_fini(&fs->files);
	free(fs);
}

static int request_plain(struct worker_files *fs, enum protocol_need_kind kind)
{
	struct protocol_need need = { .kind = kind, .name = "", .dir = "" };

	return fs->need(fs->need_ctx, &need);
}

static int request_for_dwarf(void *ctx, const struct dwarf_need *n)
{
	static const enum protocol_need_kind kinds[] = {
		[DWARF_NEED_ALT] = PROTOCOL_NEED_ALT,
		[DWARF_NEED_DWO] = PROTOCOL_NEED_DWO,
		[DWARF_NEED_DWP] = PROTOCOL_NEED_DWP,
	};
	struct worker_files *fs = ctx;
	struct protocol_need need = { kinds[n->kind], n->name, n->dir, n->id, n->id_len };

	return fs->need(fs->need_ctx, &need);
}

static struct dwarf *open_dwarf(struct worker_files *fs, int fd)
{
	struct dwarf_opts opts = {
		.max_heap = fs->max_bytes,
		.need = request_for_dwarf,
		.need_ctx = fs,
	};
	struct dwarf *d;

	return fd >= 0 && dwarf_open(&d, fd, &opts, NULL) == 0 ? d : NULL;
}

static struct elf_symtab *open_symtab(int fd)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	struct elf_symtab *t;

	if (fd < 0 || elf_image_open(&img, fd, NULL) < 0)
		return NULL;
	return elf_symtab_load(&t, img, ELF_SYMTAB, NULL) == 0 ? t : NULL;
}

static struct elf_symtab *open_minidebug(int fd)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	_cleanup_(elf_image_freep) struct elf_image *minidebug = NULL;
	_cleanup_(freep) void *bytes = NULL;
	struct elf_symtab *t;
	size_t len;

	if (fd < 0 || elf_image_open(&img, fd, NULL) < 0 ||
	    elf_minidebug_load(img, &bytes, &len, NULL) < 0 ||
	    elf_image_from_memory(&minidebug, bytes, len, NULL) < 0)
		return NULL;
	return elf_symtab_load(&t, minidebug, ELF_SYMTAB, NULL) == 0 ? t : NULL;
}

static void open_file(struct worker_files *fs, struct file *f)
{
	_cleanup_(closep) int fd = request_plain(fs, PROTOCOL_NEED_FILE);
	_cleanup_(closep) int debug = -1;

	f->dwarf = open_dwarf(fs, fd);
	f->minidebug = open_minidebug(fd);
	debug = request_plain(fs, PROTOCOL_NEED_DEBUG);
	if (debug < 0)
		return;
	if (!f->dwarf)
		f->dwarf = open_dwarf(fs, debug);
	f->symbols = open_symtab(debug);
}

static size_t file_bytes(const struct file *f)
{
	return (f->dwarf ? dwarf_bytes(f->dwarf) : 0) +
	       (f->minidebug ? elf_symtab_bytes(f->minidebug) : 0) +
	       (f->symbols ? elf_symtab_bytes(f->symbols) : 0);
}

static void drop(struct worker_files *fs, size_t i)
{
	file_fini(&fs->files.data[i]);
	fs->files.data[i] = fs->files.data[--fs->files.len];
}

/* Closes files until the rest fits into the budget, but not @keep, which is trimmed instead. */
static void obey_budget(struct worker_files *fs, uint64_t keep)
{
	for (;;) {
		size_t bytes = 0, oldest = SIZE_MAX;

		for (size_t i = 0; i < fs->files.len; i++) {
			const struct file *f = &fs->files.data[i];

			bytes += file_bytes(f);
			if (f->key != keep &&
			    (oldest == SIZE_MAX || f->used < fs->files.data[oldest].used))
				oldest = i;
		}
		if (bytes <= fs->max_bytes && fs->files.len < FILES_MAX)
			return;
		if (oldest == SIZE_MAX) {
			if (fs->files.len && fs->files.data[0].dwarf)
				dwarf_trim(fs->files.data[0].dwarf);
			return;
		}
		drop(fs, oldest);
	}
}

static struct file *get_file(struct worker_files *fs, uint64_t key)
{
	struct file f = { .key = key };

	if (fs->last < fs->files.len && fs->files.data[fs->last].key == key)
		return &fs->files.data[fs->last];
	for (fs->last = 0; fs->last < fs->files.len; fs->last++)
		if (fs->files.data[fs->last].key == key)
			return &fs->files.data[fs->last];
	obey_budget(fs, key);
	open_file(fs, &f);
	if (vec_push(&fs->files, f) < 0) {
		file_fini(&f);
		return NULL;
	}
	fs->last = fs->files.len - 1;
	return &fs->files.data[fs->last];
}

static int dwarf_frames_of(struct file *f, uint64_t vaddr, struct protocol_frame *out, size_t cap)
{
	struct dwarf_frame frames[DWARF_FRAMES_MAX];
	int n = dwarf_frames(f->dwarf, vaddr, frames,
			     cap < DWARF_FRAMES_MAX ? cap : DWARF_FRAMES_MAX);

	for (int i = 0; i < n; i++)
		out[i] = (struct protocol_frame){
			.name = frames[i].name,
			.linkage = frames[i].linkage,
			.file = frames[i].file,
			.line = frames[i].line,
			.start_line = frames[i].decl_line,
			.lang = frames[i].lang,
		};
	return n;
}

static bool find_symbol(const struct file *f, uint64_t vaddr, struct elf_symbol *out)
{
	return (f->minidebug && elf_symtab_find(f->minidebug, vaddr, out) == 0) ||
	       (f->symbols && elf_symtab_find(f->symbols, vaddr, out) == 0);
}

int worker_files_frames(struct worker_files *fs, uint64_t key, uint64_t vaddr,
			struct protocol_frame *out, size_t cap)
{
	struct elf_symbol sym;
	struct file *f;
	int n = 0;

	if (++fs->calls % 256 == 0)
		obey_budget(fs, key);
	f = get_file(fs, key);
	if (!f)
		return -ENOMEM;
	f->used = fs->calls;
	if (f->dwarf)
		n = dwarf_frames_of(f, vaddr, out, cap);
	if (n == -ENOMEM) {
		dwarf_trim(f->dwarf);
		return n;
	}
	if (!find_symbol(f, vaddr, &sym))
		return n < 0 ? 0 : n;
	if (n <= 0) {
		out[0] = (struct protocol_frame){ .name = "", .linkage = sym.name, .file = "" };
		return 1;
	}
	/* The last frame is the function itself; functions inlined into it have no symbol. */
	if (!*out[n - 1].linkage)
		out[n - 1].linkage = sym.name;
	return n;
}

void worker_files_release_pages(struct worker_files *fs)
{
	if (fs->last < fs->files.len && fs->files.data[fs->last].dwarf)
		dwarf_release_pages(fs->files.data[fs->last].dwarf);
}
