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

#include "base/sigbus.h"
#include "elf/debuglink.h"
#include "elf/gopclntab.h"
#include "elf/image.h"
#include "elf/symtab.h"
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
	bool ada;

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

/* GNAT's main programs have these two; its libraries are told by DWARF only. */
static bool has_adainit(const struct elf_symtab *t)
{
	struct elf_symbol sym;

	return elf_symtab_by_name(t, "adainit", &sym) == 0 &&
	       elf_symtab_by_name(t, "adafinal", &sym) == 0;
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
	f->ada |= f->tables[which] && has_adainit(f->tables[which]);
	return f->tables[which];
}

const char *symbol_file_find(struct symbol_file *f, enum symbol_table which, uint64_t vaddr)
{
	struct elf_symtab *t = table(f, which);
	struct elf_symbol sym;

	return t && elf_symtab_find(t, vaddr, &sym) == 0 ? sym.name : NULL;
}

bool symbol_file_is_ada(struct symbol_file *f)
{
	return table(f, SYMBOL_TABLE_SYMTAB) && f->ada;
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
	}
	close_go(f);
	f->go_tried = false;
}
