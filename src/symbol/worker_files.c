/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DWARF comes from the file itself or else from its separate debug file. Symbols of the debug file
 * or of .gnu_debugdata cover functions without DWARF.
 *
 * Over a budget, the least recently used files lose their tables, or all that was opened. If a
 * single file exceeds the budget, its tables are dropped and built again on demand.
 */
#include "symbol/worker_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "dwarf/dwarf.h"
#include "elf/image.h"
#include "elf/minidebug.h"
#include "elf/symtab.h"
#include "symbol/file.h"

struct worker_file {
	uint64_t key;
	uint64_t used;           /* value of worker_files.calls at the last use */
	struct symbol_file *own; /* never NULL */

	bool debug_opened;
	uint32_t debug_version;       /* of the search for the debug file */
	struct dwarf *dwarf;          /* NULL: absent or unreadable */
	struct elf_symtab *minidebug; /* of .gnu_debugdata; NULL: absent */
	struct elf_symtab *symbols;   /* of the debug file; NULL: absent */
};

enum { FILES_MAX = 1024 };

/* The limit on files that stay mapped, debug files excluded: the address space is limited. */
static const size_t MAPPED_MAX = (size_t)8 << 30;

struct worker_files {
	size_t max_bytes;
	debug_need_fn need;
	void *need_ctx;
	uint64_t calls;
	struct {
		VEC(struct worker_file *);
	} files;
};

static void close_debug(struct worker_file *f)
{
	dwarf_free(f->dwarf);
	elf_symtab_free(f->minidebug);
	elf_symtab_free(f->symbols);
	f->dwarf = NULL;
	f->minidebug = f->symbols = NULL;
	f->debug_opened = false;
}

static void file_free(struct worker_file *f)
{
	close_debug(f);
	symbol_file_free(f->own);
	free(f);
}

int worker_files_new(struct worker_files **out, size_t max_bytes, debug_need_fn need, void *ctx)
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
		file_free(fs->files.data[i]);
	vec_fini(&fs->files);
	free(fs);
}

struct symbol_file *worker_file_own(const struct worker_file *f)
{
	return f->own;
}

/* ---- debug information ------------------------------------------------------------- */

static int request_for_dwarf(void *ctx, const struct dwarf_need *n)
{
	struct worker_files *fs = ctx;
	struct protocol_need need = { .name = n->name, .dir = n->dir };

	if (n->kind == DWARF_NEED_ALT)
		return debug_search_alt(n->name, n->id, n->id_len, fs->need, fs->need_ctx);
	need.kind = n->kind == DWARF_NEED_DWO ? PROTOCOL_NEED_DWO : PROTOCOL_NEED_DWP;
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

	if (elf_image_open(&img, fd, NULL) < 0 || elf_minidebug_load(img, &bytes, &len, NULL) < 0 ||
	    elf_image_from_memory(&minidebug, bytes, len, NULL) < 0)
		return NULL;
	return elf_symtab_load(&t, minidebug, ELF_SYMTAB, NULL) == 0 ? t : NULL;
}

static void open_debug(struct worker_files *fs, struct worker_file *f)
{
	_cleanup_(closep) int debug = -1;
	int fd = symbol_file_fd(f->own);

	if (symbol_file_has_dwarf(f->own))
		f->dwarf = open_dwarf(fs, fd);
	if (symbol_file_has_minidebug(f->own))
		f->minidebug = open_minidebug(fd);
	debug = debug_search(f->own, fs->need, fs->need_ctx);
	if (debug < 0)
		return;
	if (!f->dwarf)
		f->dwarf = open_dwarf(fs, debug);
	f->symbols = open_symtab(debug);
}

bool worker_file_open_debug(struct worker_files *fs, struct worker_file *f, uint32_t debug_version)
{
	if (!f->debug_opened || f->debug_version != debug_version) {
		close_debug(f);
		open_debug(fs, f);
		f->debug_opened = true;
		f->debug_version = debug_version;
	}
	return f->dwarf || f->minidebug || f->symbols;
}

int worker_file_dwarf_frames(struct worker_file *f, uint64_t vaddr, struct dwarf_frame *out,
			     size_t cap)
{
	int n = f->dwarf ? dwarf_frames(f->dwarf, vaddr, out, cap) : 0;

	if (n == -ENOMEM)
		dwarf_trim(f->dwarf);
	return n < 0 ? 0 : n;
}

bool worker_file_debug_symbol(const struct worker_file *f, uint64_t vaddr, struct elf_symbol *out)
{
	return (f->minidebug && elf_symtab_find(f->minidebug, vaddr, out) == 0) ||
	       (f->symbols && elf_symtab_find(f->symbols, vaddr, out) == 0);
}

/* ---- budgets ----------------------------------------------------------------------- */

static size_t debug_bytes(const struct worker_file *f)
{
	return (f->dwarf ? dwarf_bytes(f->dwarf) : 0) +
	       (f->minidebug ? elf_symtab_bytes(f->minidebug) : 0) +
	       (f->symbols ? elf_symtab_bytes(f->symbols) : 0);
}

size_t worker_files_table_bytes(const struct worker_files *fs)
{
	size_t bytes = 0;

	for (size_t i = 0; i < fs->files.len; i++)
		bytes += symbol_file_bytes(fs->files.data[i]->own);
	return bytes;
}

/* A resource that files hold: how many bytes of it, and how to free it. */
struct holding {
	size_t (*bytes)(const struct worker_file *f);
	void (*drop)(struct worker_file *f);
};

static size_t table_bytes_of(const struct worker_file *f)
{
	return symbol_file_bytes(f->own);
}

static size_t mapped_bytes_of(const struct worker_file *f)
{
	return symbol_file_mapped(f->own);
}

static void drop_tables(struct worker_file *f)
{
	symbol_file_trim(f->own);
}

static const struct holding tables = { table_bytes_of, drop_tables };
static const struct holding mappings = { mapped_bytes_of, drop_tables };
static const struct holding debug_info = { debug_bytes, close_debug };

/*
 * Frees data of the least recently used files, except @keep, until at most @max bytes remain.
 * Returns the bytes that remain.
 */
static size_t obey(struct worker_files *fs, const struct holding *h, size_t max,
		   const struct worker_file *keep)
{
	size_t bytes = 0;

	for (size_t i = 0; i < fs->files.len; i++)
		bytes += h->bytes(fs->files.data[i]);
	while (bytes > max) {
		struct worker_file *oldest = NULL;
		size_t least = 0;

		for (size_t i = 0; i < fs->files.len; i++) {
			struct worker_file *f = fs->files.data[i];
			size_t held = f == keep ? 0 : h->bytes(f);

			if (held && (!oldest || f->used < oldest->used)) {
				oldest = f;
				least = held;
			}
		}
		if (!oldest)
			break;
		h->drop(oldest);
		bytes -= least - h->bytes(oldest);
	}
	return bytes;
}

void worker_files_end(struct worker_files *fs, struct worker_file *f, size_t table_bytes)
{
	symbol_file_idle(f->own);
	if (f->dwarf)
		dwarf_release_pages(f->dwarf);
	(void)obey(fs, &tables, table_bytes, NULL);
	(void)obey(fs, &mappings, MAPPED_MAX, NULL);
	if (obey(fs, &debug_info, fs->max_bytes, f) > fs->max_bytes && f->dwarf)
		dwarf_trim(f->dwarf);
}

/* ---- files ------------------------------------------------------------------------- */

static void forget_oldest(struct worker_files *fs)
{
	size_t oldest = 0;

	for (size_t i = 1; i < fs->files.len; i++)
		if (fs->files.data[i]->used < fs->files.data[oldest]->used)
			oldest = i;
	file_free(fs->files.data[oldest]);
	fs->files.data[oldest] = fs->files.data[--fs->files.len];
}

static struct worker_file *add(struct worker_files *fs, uint64_t key)
{
	struct worker_file *f = calloc(1, sizeof(*f));

	if (!f || symbol_file_new(&f->own) < 0) {
		free(f);
		return NULL;
	}
	if (fs->files.len >= FILES_MAX)
		forget_oldest(fs);
	f->key = key;
	if (vec_push(&fs->files, f) == 0)
		return f;
	file_free(f);
	return NULL;
}

struct worker_file *worker_files_get(struct worker_files *fs, uint64_t key)
{
	struct worker_file *f = NULL;

	/* the file that was added last is the most likely one */
	for (size_t i = fs->files.len; i-- > 0 && !f;)
		if (fs->files.data[i]->key == key)
			f = fs->files.data[i];
	if (!f)
		f = add(fs, key);
	if (f)
		f->used = ++fs->calls;
	return f;
}
