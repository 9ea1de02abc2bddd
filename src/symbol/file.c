/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is looked at once, when it is added: segments, build id, debuglink,
 * which sections it has. Its tables are loaded when a name is wanted and may
 * be dropped at any time between calls. Everything that reads the mapping runs
 * under sigbus_run(), since its owner may truncate it.
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
#include "elf/symtab_few.h"
#include "symbol/symbol_cache.h"

struct symbol_file {
	int fd;
	struct symbol_cache *cache;
	struct elf_build_id build_id;
	struct elf_segment segments[ELF_SEGMENTS_MAX];
	size_t n_segments;
	bool has_link;
	struct elf_debuglink link;
	bool has_dwarf, has_mini;

	struct elf_symtab *tables[SYMBOL_TABLE_MAX];
	bool table_failed[SYMBOL_TABLE_MAX];
	bool ada, ada_looked;
	struct buf few_names[SYMBOL_TABLE_MAX]; /* given last, of those looked for in the file */

	bool go_tried;
	struct elf_image *go_image; /* kept for @go, which borrows from it */
	struct gopclntab *go;
};

static bool has_section(const struct elf_image *img, const char *name)
{
	struct elf_span s;
	int r = elf_image_section(img, name, &s);

	return r == 0 || r == -ENOTSUP;
}

static int look(void *ctx)
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
	f->has_mini = has_section(img, ".gnu_debugdata");
	return 0;
}

int symbol_file_new(struct symbol_file **out, int fd, struct symbol_cache *cache)
{
	struct symbol_file *f = calloc(1, sizeof(*f));

	if (!f) {
		close(fd);
		return -ENOMEM;
	}
	f->fd = fd;
	f->cache = cache;
	sigbus_run(look, f);
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
	return f->has_dwarf || f->has_mini;
}

int symbol_file_vaddr(const struct symbol_file *f, uint64_t file_off, uint64_t *out)
{
	for (int want_exec = 1; want_exec >= 0; want_exec--) {
		for (size_t i = 0; i < f->n_segments; i++) {
			const struct elf_segment *s = &f->segments[i];

			if (s->exec != want_exec || file_off < s->file_off ||
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

/* A few addresses, rising, and where each is among those asked for. */
struct few {
	struct symbol_file *f;
	enum symbol_table which;
	size_t n;
	uint64_t vaddrs[ELF_FEW_MAX];
	size_t at[ELF_FEW_MAX];
	struct elf_few answers[ELF_FEW_MAX];
};

static void few_add(struct few *few, uint64_t vaddr, size_t at)
{
	size_t i = few->n++;

	for (; i && few->vaddrs[i - 1] > vaddr; i--) {
		few->vaddrs[i] = few->vaddrs[i - 1];
		few->at[i] = few->at[i - 1];
	}
	few->vaddrs[i] = vaddr;
	few->at[i] = at;
}

static int ask_few(void *ctx)
{
	static const enum elf_symtab_source sources[] = {
		[SYMBOL_TABLE_SYMTAB] = ELF_SYMTAB,
		[SYMBOL_TABLE_DYNSYM] = ELF_DYNSYM,
	};
	struct few *few = ctx;
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	int r = elf_image_open(&img, few->f->fd, NULL);

	return r < 0 ? r
		     : elf_symtab_few(img, sources[few->which], few->vaddrs, few->n, few->answers,
				      &few->f->few_names[few->which]);
}

/* Those that the file itself tells; @left gets the others. */
static void find_few(struct few *few, const char **names, uint64_t *left)
{
	struct buf *text = &few->f->few_names[few->which];
	int r;

	text->len = 0;
	r = sigbus_run(ask_few, few);
	for (size_t i = 0; i < few->n; i++) {
		const struct elf_few *a = &few->answers[i];

		if (r < 0 || a->verdict == ELF_FEW_UNKNOWN)
			continue;
		left[few->at[i]] = UINT64_MAX;
		if (a->verdict == ELF_FEW_NAMED)
			names[few->at[i]] = (const char *)text->data + a->name;
	}
}

static size_t count_wanted(const uint64_t *vaddrs, size_t n)
{
	size_t wanted = 0;

	for (size_t i = 0; i < n; i++)
		wanted += vaddrs[i] != UINT64_MAX;
	return wanted;
}

void symbol_file_names(struct symbol_file *f, enum symbol_table which, uint64_t *vaddrs, size_t n,
		       const char **names)
{
	struct few few = { .f = f, .which = which };
	size_t wanted = count_wanted(vaddrs, n);

	memset(names, 0, n * sizeof(*names));
	if (!f->tables[which] && !f->table_failed[which] && wanted && wanted <= ELF_FEW_MAX) {
		for (size_t i = 0; i < n; i++)
			if (vaddrs[i] != UINT64_MAX)
				few_add(&few, vaddrs[i], i);
		find_few(&few, names, vaddrs);
	}
	for (size_t i = 0; i < n; i++)
		if (vaddrs[i] != UINT64_MAX)
			names[i] = find_in_table(f, which, vaddrs[i]);
}

static bool has_text(const struct elf_span *s, const char *text)
{
	return memmem(s->data, s->len, text, strlen(text) + 1) != NULL;
}

/* GNAT's main programs have these two functions; its libraries are told by DWARF only. */
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
	if (!f->ada_looked)
		(void)sigbus_run(look_for_ada, f);
	f->ada_looked = true;
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

void symbol_file_rest(const struct symbol_file *f)
{
	if (f->go_image)
		elf_image_rest(f->go_image);
}

size_t symbol_file_bytes(const struct symbol_file *f)
{
	size_t n = sizeof(*f);

	for (int i = 0; i < SYMBOL_TABLE_MAX; i++)
		if (f->tables[i])
			n += elf_symtab_bytes(f->tables[i]);
	return n;
}

void symbol_file_trim(struct symbol_file *f)
{
	for (int i = 0; i < SYMBOL_TABLE_MAX; i++) {
		elf_symtab_free(f->tables[i]);
		f->tables[i] = NULL;
		buf_fini(&f->few_names[i]);
	}
	close_go(f);
	f->go_tried = false;
}
