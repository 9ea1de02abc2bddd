/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cached table is a header with the length and an XXH3 checksum of the data, followed by the
 * output of elf_symtab_save(). The checksum protects against disk errors and crashes;
 * elf_symtab_restore() validates the data nevertheless.
 *
 * The name is a SipHash of the input under the key of the cache, so the author of a profiled
 * program cannot construct a file whose table collides with another's. Small tables are not cached,
 * because building them is faster than reading them.
 */
#include "symbol/table_cache.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "elf/image.h"
#include "elf/plt.h"
#include "elf/symtab.h"
#include "roles/memfd.h"

#define SUFFIX TABLE_CACHE_SUFFIX

enum {
	VERSION = 2, /* Changes with the file format and with the symbols that elf_symtab_load()
			selects. */
	SMALL_BYTES = 64 * 1024,
	LARGE_BYTES = 128 << 20, /* the copy is not part of the heap, so nothing else limits it */
};

struct header {
	char magic[4];
	uint32_t version;
	uint64_t len, sum;
};

static const char magic[4] = { 'C', 'S', 'Y', 'M' };

/* ---- the input of a table ---------------------------------------------------- */

/*
 * A private copy of the parts of an image that define its table, at their
 * original offsets. Pages without such parts are never touched, so they use no memory. The
 * copy guarantees that the hash and the table have the same input even if the
 * file's owner writes to it at the same time.
 */
struct copy {
	uint8_t *data;
	size_t len;
	uint64_t symbol_bytes;
	struct elf_image *img;
};

static void copy_fini(struct copy *c)
{
	elf_image_free(c->img);
	if (c->data)
		munmap(c->data, c->len);
}

static void copy_span(struct copy *c, const struct elf_span *s)
{
	memcpy(c->data + s->file_off, s->data, s->len);
}

static void copy_range(struct copy *c, const struct elf_image *img, uint64_t off, uint64_t len)
{
	struct elf_span s;

	if (elf_image_at_offset(img, off, len, &s) == 0)
		copy_span(c, &s);
}

static void copy_headers(struct copy *c, const struct elf_image *img)
{
	struct elf_span names;
	Elf64_Ehdr eh;

	copy_range(c, img, 0, sizeof(eh));
	memcpy(&eh, c->data, sizeof(eh));
	copy_range(c, img, eh.e_phoff, (uint64_t)eh.e_phnum * sizeof(Elf64_Phdr));
	copy_range(c, img, eh.e_shoff, elf_image_n_sections(img) * sizeof(Elf64_Shdr));
	if (elf_image_section_at(img, eh.e_shstrndx, &names) == 0)
		copy_span(c, &names);
}

static void copy_symbols(struct copy *c, const struct elf_image *img, uint32_t type)
{
	struct elf_span entries, strs;
	uint32_t link = 0;

	if (elf_image_section_of_type(img, type, &entries, &link) < 0 ||
	    elf_image_section_at(img, link, &strs) < 0)
		return;
	c->symbol_bytes = entries.len + strs.len;
	if (c->symbol_bytes < SMALL_BYTES || c->symbol_bytes > LARGE_BYTES)
		return;
	copy_span(c, &entries);
	copy_span(c, &strs);
}

/* Returns 0; -ENODATA for a file not worth caching; -ENOMEM; -errno. */
static int copy_init(struct copy *c, const struct elf_image *img, unsigned int source)
{
	struct elf_span s;
	const char *name;

	c->len = elf_image_len(img);
	if (c->len < sizeof(Elf64_Ehdr))
		return -ENODATA;
	/* shared memory, because RLIMIT_DATA counts private mappings by their length */
	c->data = mmap(NULL, c->len, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (c->data == MAP_FAILED) {
		c->data = NULL;
		return -ENOMEM;
	}
	copy_symbols(c, img, source == ELF_SYMTAB ? SHT_SYMTAB : SHT_DYNSYM);
	if (c->symbol_bytes < SMALL_BYTES || c->symbol_bytes > LARGE_BYTES)
		return -ENODATA;
	copy_headers(c, img);
	for (size_t i = 0; (name = elf_plt_section(img, i)); i++)
		if (elf_image_section(img, name, &s) == 0)
			copy_span(c, &s);
	return elf_image_from_memory(&c->img, c->data, c->len, NULL);
}

static void add_word(struct siphash *h, uint64_t v)
{
	siphash_add(h, &v, sizeof(v));
}

static void add_span(struct siphash *h, int r, const struct elf_span *s)
{
	add_word(h, (uint64_t)(int64_t)r);
	if (r < 0)
		return;
	add_word(h, s->len);
	siphash_add(h, s->data, s->len);
}

static void add_headers(struct siphash *h, const struct elf_image *img)
{
	size_t n = elf_image_n_sections(img);

	add_word(h, elf_image_len(img));
	add_word(h, elf_image_machine(img));
	add_word(h, n);
	for (uint32_t i = 0; i < n; i++) {
		struct elf_section s = { 0 };

		(void)elf_image_section_header(img, i, &s);
		add_word(h, (uint64_t)s.type << 32 | s.link);
		add_word(h, s.info);
		add_word(h, s.flags);
		add_word(h, s.vaddr);
		add_word(h, s.file_off);
		add_word(h, s.size);
		add_word(h, s.entsize);
	}
}

/* Computes the table's name from everything that elf_symtab_load() reads in the copy. */
static void name_of(const struct table_cache *c, const struct elf_image *img, unsigned int source,
		    char name[TABLE_CACHE_NAME_CAP])
{
	struct elf_span s;
	struct siphash_value v;
	struct siphash h;
	const char *plt;
	uint32_t link = 0;
	size_t len = 0;

	siphash_init(&h, &c->key);
	add_word(&h, VERSION);
	add_word(&h, source);
	add_headers(&h, img);
	add_span(&h,
		 elf_image_section_of_type(img, source == ELF_SYMTAB ? SHT_SYMTAB : SHT_DYNSYM, &s,
					   &link),
		 &s);
	add_span(&h, elf_image_section_at(img, link, &s), &s);
	for (size_t i = 0; (plt = elf_plt_section(img, i)); i++)
		add_span(&h, elf_image_section(img, plt, &s), &s);
	siphash_end(&h, &v);
	for (size_t i = 0; i < sizeof(v.bytes); i++)
		len += (size_t)snprintf(name + len, TABLE_CACHE_NAME_CAP - len, "%02x", v.bytes[i]);
	snprintf(name + len, TABLE_CACHE_NAME_CAP - len, "%s", SUFFIX);
}

/* ---- cached tables ------------------------------------------------------------------- */

static bool is_whole(const uint8_t *data, size_t len)
{
	struct header h;

	if (len < sizeof(h))
		return false;
	memcpy(&h, data, sizeof(h));
	return !memcmp(h.magic, magic, sizeof(magic)) && h.version == VERSION &&
	       h.len == len - sizeof(h) && h.sum == XXH3_64bits(data + sizeof(h), h.len);
}

int table_cache_parse(struct elf_symtab **out, void *block, size_t len)
{
	if (is_whole(block, len))
		return elf_symtab_restore(out, block, sizeof(struct header),
					  len - sizeof(struct header));
	free(block);
	return -EBADMSG;
}

static int read_table(int fd, struct elf_symtab **out)
{
	struct stat st;
	size_t len;
	void *block;

	if (fstat(fd, &st) < 0 || st.st_size <= 0 || st.st_size > TABLE_CACHE_FILE_MAX)
		return -EBADMSG;
	len = (size_t)st.st_size;
	block = malloc(len);
	if (!block)
		return -ENOMEM;
	if (pread(fd, block, len, 0) == (ssize_t)len)
		return table_cache_parse(out, block, len);
	free(block);
	return -EBADMSG;
}

/* Offers a table to the cache. Errors are ignored, since the table is usable without the cache. */
static void store(const struct table_cache *c, const char *name, const struct elf_symtab *t)
{
	_cleanup_(buf_fini) struct buf body = { 0 };
	struct header h = { .version = VERSION };
	struct role_memfd m;
	int fd;

	elf_symtab_save(t, &body);
	if (buf_error(&body) || role_memfd_new(&m, sizeof(h) + body.len) < 0)
		return;
	memcpy(h.magic, magic, sizeof(magic));
	h.len = body.len;
	h.sum = XXH3_64bits(body.data, body.len);
	memcpy(m.data, &h, sizeof(h));
	memcpy((uint8_t *)m.data + sizeof(h), body.data, body.len);
	fd = role_memfd_seal(&m);
	if (fd >= 0)
		c->put(c->ctx, name, fd);
}

/* A damaged table is replaced by the one that is built. */
int table_cache_load(const struct table_cache *c, const struct elf_image *img, unsigned int source,
		     struct elf_symtab **out)
{
	_cleanup_(copy_fini) struct copy copy = { 0 };
	_cleanup_(closep) int fd = -1;
	char name[TABLE_CACHE_NAME_CAP];
	int r;

	if (!c || copy_init(&copy, img, source) < 0)
		return elf_symtab_load(out, img, source, NULL);
	name_of(c, copy.img, source, name);
	fd = c->get(c->ctx, name);
	if (fd >= 0 && read_table(fd, out) == 0)
		return 0;
	r = elf_symtab_load(out, copy.img, source, NULL);
	if (r == 0)
		store(c, name, *out);
	return r;
}
