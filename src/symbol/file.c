/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments, build id, debuglink and the presence of sections are read once,
 * when the file is added. Tables are loaded on first use and may be dropped
 * between calls. All code that reads the mapped file runs under sigbus_run(),
 * because its owner may truncate the file.
 *
 * A process with few samples in a file looks up few addresses. One pass over
 * the unsorted table (elf_symtab_scan()) is then cheaper than sorting it, and
 * leaves no table in memory.
 */
#include "symbol/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/sigbus.h"
#include "elf/debuglink.h"
#include "elf/gopclntab.h"
#include "elf/image.h"
#include "elf/symtab.h"
#include "elf/symtab_scan.h"
#include "symbol/symbol_cache.h"

struct symbol_file {
	int fd;
	struct symbol_cache *cache;
	struct elf_build_id build_id;
	struct elf_segment segments[ELF_SEGMENTS_MAX];
	size_t n_segments;
	bool has_link;
	struct elf_debuglink link;
	bool has_dwarf, has_minidebug;

	struct elf_symtab *tables[SYMBOL_TABLE_MAX];
	bool table_failed[SYMBOL_TABLE_MAX];
	bool ada, ada_checked;                   /* see symbol_file_is_ada() */
	struct buf scan_names[SYMBOL_TABLE_MAX]; /* results of the last scan */

	bool go_tried;
	struct elf_image *go_image; /* @go borrows from it */
	struct gopclntab *go;
};

/*
 * A compressed section that cannot be decompressed here exists nonetheless: the worker may read it.
 */
static bool has_section(const struct elf_image *img, const char *name)
{
	struct elf_span s;
	int r = elf_image_section(img, name, &s);

	return r == 0 || r == -ENOTSUP;
}

static int read_facts(void *ctx)
{
	struct symbol_file *f = ctx;
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	const struct elf_segment *segments;
	int r;

	r = elf_image_open(&img, f->fd, NULL);
	if (r < 0)
		return r;
	f->n_segments = elf_image_segments(img, &segments);
	memcpy(f->segments, segments, f->n_segments * sizeof(*segments));
	elf_note_gnu_build_id(img, &f->build_id);
	f->has_link = elf_debuglink(img, &f->link) == 0;
	f->has_dwarf = has_section(img, ".debug_info") || has_section(img, ".zdebug_info");
	f->has_minidebug = has_section(img, ".gnu_debugdata");
	return 0;
}

/*
 * A file that cannot be read has no symbols, which is not an error: its frames get the name of the
 * file.
 */
int symbol_file_new(struct symbol_file **out, int fd, struct symbol_cache *cache)
{
	struct symbol_file *f = calloc(1, sizeof(*f));

	if (!f) {
		close(fd);
		return -ENOMEM;
	}
	f->fd = fd;
	f->cache = cache;
	sigbus_run(read_facts, f);
	*out = f;
	return 0;
}

void symbol_file_free(struct symbol_file *f)
{
	if (!f)
		return;
	symbol_file_trim(f);
	close(f->fd);
	free(f);
}

int symbol_file_fd(const struct symbol_file *f)
{
	return f->fd;
}

const struct elf_build_id *symbol_file_build_id(const struct symbol_file *f)
{
	return &f->build_id;
}

const char *symbol_file_debuglink(const struct symbol_file *f, uint32_t *out_crc)
{
	*out_crc = f->link.crc;
	return f->has_link ? f->link.name : NULL;
}

bool symbol_file_has_dwarf(const struct symbol_file *f)
{
	return f->has_dwarf;
}

bool symbol_file_has_debug(const struct symbol_file *f)
{
	return f->has_dwarf || f->has_minidebug;
}

/*
 * Executable segments come first, because segments may overlap in the file and code is what is
 * looked up.
 */
int symbol_file_vaddr(const struct symbol_file *f, uint64_t file_off, uint64_t *out)
{
	for (int exec = 1; exec >= 0; exec--) {
		for (size_t i = 0; i < f->n_segments; i++) {
			const struct elf_segment *s = &f->segments[i];

			if (s->exec != exec || file_off < s->file_off ||
			    file_off - s->file_off >= s->filesz)
				continue;
			*out = s->vaddr + (file_off - s->file_off);
			return 0;
		}
	}
	return -ENOENT;
}

struct load {
	struct symbol_file *f;
	enum symbol_table which;
};

static int load_table(void *ctx)
{
	static const unsigned int sources[] = {
		[SYMBOL_TABLE_SYMTAB] = ELF_SYMTAB,
		[SYMBOL_TABLE_DYNSYM] = ELF_DYNSYM,
	};
	struct load *l = ctx;
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	int r;

	r = elf_image_open(&img, l->f->fd, NULL);
	if (r < 0)
		return r;
	return symbol_cache_load(l->f->cache, img, sources[l->which], &l->f->tables[l->which]);
}

/* A failure is remembered, so that a damaged file is not parsed for each of its addresses. */
static struct elf_symtab *table(struct symbol_file *f, enum symbol_table which)
{
	struct load l = { f, which };

	if (f->tables[which] || f->table_failed[which])
		return f->tables[which];
	if (sigbus_run(load_table, &l) < 0) {
		f->table_failed[which] = true;
		elf_symtab_free(f->tables[which]);
		f->tables[which] = NULL;
	}
	return f->tables[which];
}

static const char *find_in_table(struct symbol_file *f, enum symbol_table which, uint64_t vaddr)
{
	struct elf_symtab *t = table(f, which);
	struct elf_symbol sym;

	return t && elf_symtab_find(t, vaddr, &sym) == 0 ? sym.name : NULL;
}

/* A scan of one table: ascending addresses, and the index of each in the request. */
struct scan {
	struct symbol_file *f;
	enum symbol_table which;
	size_t n;
	uint64_t vaddrs[ELF_SCAN_MAX];
	size_t at[ELF_SCAN_MAX];
	struct elf_scan_result results[ELF_SCAN_MAX];
};

/* Insertion sort: there are at most ELF_SCAN_MAX addresses. */
static void scan_add(struct scan *scan, uint64_t vaddr, size_t at)
{
	size_t i = scan->n++;

	for (; i && scan->vaddrs[i - 1] > vaddr; i--) {
		scan->vaddrs[i] = scan->vaddrs[i - 1];
		scan->at[i] = scan->at[i - 1];
	}
	scan->vaddrs[i] = vaddr;
	scan->at[i] = at;
}

static int scan_file(void *ctx)
{
	static const enum elf_symtab_source sources[] = {
		[SYMBOL_TABLE_SYMTAB] = ELF_SYMTAB,
		[SYMBOL_TABLE_DYNSYM] = ELF_DYNSYM,
	};
	struct scan *scan = ctx;
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	int r = elf_image_open(&img, scan->f->fd, NULL);

	return r < 0 ? r
		     : elf_symtab_scan(img, sources[scan->which], scan->vaddrs, scan->n,
				       scan->results, &scan->f->scan_names[scan->which]);
}

/*
 * Fills @names for the addresses that a scan decides and sets their entries in @pending to
 * UINT64_MAX. The others remain for the sorted table.
 */
static void scan_for_names(struct scan *scan, const char **names, uint64_t *pending)
{
	struct buf *text = &scan->f->scan_names[scan->which];
	int r;

	text->len = 0;
	r = sigbus_run(scan_file, scan);
	for (size_t i = 0; i < scan->n; i++) {
		const struct elf_scan_result *a = &scan->results[i];

		if (r < 0 || a->verdict == ELF_SCAN_UNKNOWN)
			continue;
		pending[scan->at[i]] = UINT64_MAX;
		if (a->verdict == ELF_SCAN_FOUND)
			names[scan->at[i]] = (const char *)text->data + a->name;
	}
}

static size_t count_pending(const uint64_t *vaddrs, size_t n)
{
	size_t n_pending = 0;

	for (size_t i = 0; i < n; i++)
		n_pending += vaddrs[i] != UINT64_MAX;
	return n_pending;
}

/*
 * A few addresses are looked up by reading the table once, which needs no memory; only more of them
 * justify a sorted copy.
 */
void symbol_file_find_names(struct symbol_file *f, enum symbol_table which, uint64_t *vaddrs,
			    size_t n, const char **names)
{
	struct scan scan = { .f = f, .which = which };
	size_t n_pending = count_pending(vaddrs, n);

	memset(names, 0, n * sizeof(*names));
	if (!f->tables[which] && !f->table_failed[which] && n_pending &&
	    n_pending <= ELF_SCAN_MAX) {
		for (size_t i = 0; i < n; i++)
			if (vaddrs[i] != UINT64_MAX)
				scan_add(&scan, vaddrs[i], i);
		scan_for_names(&scan, names, vaddrs);
	}
	for (size_t i = 0; i < n; i++)
		if (vaddrs[i] != UINT64_MAX)
			names[i] = find_in_table(f, which, vaddrs[i]);
}

static bool has_text(const struct elf_span *s, const char *text)
{
	return memmem(s->data, s->len, text, strlen(text) + 1) != NULL;
}

/*
 * Main programs built by GNAT define these two functions. Ada libraries are recognized only by the
 * language in their DWARF.
 */
static int look_for_ada(void *ctx)
{
	struct symbol_file *f = ctx;
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	struct elf_rawsyms syms;
	struct elf_rawsym sym;
	int r = elf_image_open(&img, f->fd, NULL);

	if (r < 0 || elf_rawsyms_open(img, ELF_SYMTAB, &syms) < 0)
		return r;
	f->ada = has_text(&syms.strs, "adainit") && has_text(&syms.strs, "adafinal") &&
		 elf_symbol_lookup(img, ELF_SYMTAB, "adainit", &sym) == 0 &&
		 elf_symbol_lookup(img, ELF_SYMTAB, "adafinal", &sym) == 0;
	return 0;
}

bool symbol_file_is_ada(struct symbol_file *f)
{
	if (!f->ada_checked)
		(void)sigbus_run(look_for_ada, f);
	f->ada_checked = true;
	return f->ada;
}

static int open_go(void *ctx)
{
	struct symbol_file *f = ctx;
	int r;

	r = elf_image_open(&f->go_image, f->fd, NULL);
	return r < 0 ? r : gopclntab_open(&f->go, f->go_image, NULL);
}

static void close_go(struct symbol_file *f)
{
	gopclntab_free(f->go);
	elf_image_free(f->go_image);
	f->go = NULL;
	f->go_image = NULL;
}

int symbol_file_go_frames(struct symbol_file *f, uint64_t vaddr, struct gopclntab_frame *out,
			  size_t cap)
{
	if (!f->go_tried) {
		f->go_tried = true;
		if (sigbus_run(open_go, f) < 0)
			close_go(f);
	}
	return f->go ? gopclntab_frames(f->go, vaddr, out, cap) : -ENOENT;
}

void symbol_file_release_pages(const struct symbol_file *f)
{
	if (f->go_image)
		elf_image_release_pages(f->go_image);
}

size_t symbol_file_bytes(const struct symbol_file *f)
{
	size_t n = sizeof(*f);

	for (int i = 0; i < SYMBOL_TABLE_MAX; i++)
		if (f->tables[i])
			n += elf_symtab_bytes(f->tables[i]);
	return n;
}

/* Everything freed here is loaded again when it is needed. */
void symbol_file_trim(struct symbol_file *f)
{
	for (int i = 0; i < SYMBOL_TABLE_MAX; i++) {
		elf_symtab_free(f->tables[i]);
		f->tables[i] = NULL;
		buf_fini(&f->scan_names[i]);
	}
	close_go(f);
	f->go_tried = false;
}
