/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any program can contain the build id of libc. Sharing its symbols with libc
 * on that basis would let one user's file rename another's frames, so files
 * are shared only if their headers and symbol information are identical.
 */
#include "symbol/same_file.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/sigbus.h"
#include "elf/image.h"

enum { COMPARED_MAX = 64 << 20, PIECE = 1 << 20 };

struct file_pair {
	int fd[2];
	struct elf_image *img[2];
	uint64_t n_bytes;
};

static bool equal_headers(const struct file_pair *p)
{
	struct elf_span s[2];

	for (int i = 0; i < 2; i++)
		if (elf_image_at_offset(p->img[i], 0, sizeof(Elf64_Ehdr), &s[i]) < 0)
			return false;
	return elf_image_len(p->img[0]) == elf_image_len(p->img[1]) &&
	       elf_image_n_sections(p->img[0]) == elf_image_n_sections(p->img[1]) &&
	       !memcmp(s[0].data, s[1].data, sizeof(Elf64_Ehdr));
}

static bool equal_segments(const struct file_pair *p)
{
	const struct elf_segment *a, *b;
	size_t n = elf_image_segments(p->img[0], &a);

	if (elf_image_segments(p->img[1], &b) != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (a[i].vaddr != b[i].vaddr || a[i].memsz != b[i].memsz ||
		    a[i].file_off != b[i].file_off || a[i].filesz != b[i].filesz ||
		    a[i].exec != b[i].exec)
			return false;
	return true;
}

/* Compares in pieces, so that only one of each file is resident at a time. */
static bool equal_bytes(const struct file_pair *p, uint64_t off, uint64_t size)
{
	struct elf_span s, t;

	while (size) {
		size_t n = size < PIECE ? (size_t)size : PIECE;

		if (elf_image_at_offset(p->img[0], off, n, &s) < 0 ||
		    elf_image_at_offset(p->img[1], off, n, &t) < 0 ||
		    memcmp(s.data, t.data, n) != 0)
			return false;
		elf_image_release_pages(p->img[0]);
		elf_image_release_pages(p->img[1]);
		off += n;
		size -= n;
	}
	return true;
}

static bool equal_section(struct file_pair *p, uint32_t i)
{
	struct elf_section a, b;

	if (elf_image_section_header(p->img[0], i, &a) < 0 ||
	    elf_image_section_header(p->img[1], i, &b) < 0)
		return false;
	if (a.type != b.type || a.link != b.link || a.info != b.info || a.flags != b.flags ||
	    a.vaddr != b.vaddr || a.file_off != b.file_off || a.size != b.size ||
	    a.entsize != b.entsize)
		return false;
	/* Executable sections with an entry size, such as .plt, define symbols. */
	if (a.type == SHT_NOBITS || ((a.flags & SHF_EXECINSTR) && !a.entsize))
		return true;
	if (a.size > COMPARED_MAX - p->n_bytes)
		return false;
	p->n_bytes += a.size;
	return equal_bytes(p, a.file_off, a.size);
}

static int compare(void *ctx)
{
	struct file_pair *p = ctx;
	int r = 0;

	for (int i = 0; i < 2 && r == 0; i++)
		r = elf_image_open(&p->img[i], p->fd[i], NULL);
	if (r < 0)
		return r;
	if (!equal_headers(p) || !equal_segments(p) || !elf_image_n_sections(p->img[0]))
		return -ENOENT;
	for (uint32_t i = 0; i < elf_image_n_sections(p->img[0]); i++)
		if (!equal_section(p, i))
			return -ENOENT;
	return 0;
}

bool same_file(int fd_a, int fd_b)
{
	struct file_pair p = { .fd = { fd_a, fd_b } };
	bool same = sigbus_run(compare, &p) == 0;

	elf_image_free(p.img[0]);
	elf_image_free(p.img[1]);
	return same;
}
