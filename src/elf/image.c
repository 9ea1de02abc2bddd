/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only place that converts offsets of an ELF file into pointers. The file's header and program
 * headers are checked and copied when it is opened. Section headers are read from the mapping each
 * time, and checked each time, since the file may be written to meanwhile. Every range is checked
 * as "offset <= length and size <= length - offset", which cannot overflow. The content of sections
 * is not interpreted, relocated or decompressed.
 */
#include "elf/image.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

enum { PHDRS_MAX = 65536 };

struct elf_image {
	const uint8_t *data;
	size_t len;
	void *map; /* NULL: the bytes are borrowed */
	size_t map_len;

	uint16_t type;
	uint16_t machine;
	uint64_t entry;
	uint64_t phoff;
	uint64_t n_phdrs;
	uint64_t shoff;
	uint64_t n_shdrs;
	uint32_t shstrndx;

	struct elf_segment segments[ELF_SEGMENTS_MAX];
	size_t n_segments;
};

/*
 * These two are the bounds checks that everything else relies on. They are written without a sum or
 * product of untrusted numbers, which could overflow.
 */
static bool range_in(uint64_t off, uint64_t len, uint64_t limit)
{
	return off <= limit && len <= limit - off;
}

static bool table_in(uint64_t off, uint64_t n, uint64_t entry_len, uint64_t limit)
{
	return off <= limit && n <= (limit - off) / entry_len;
}

/* Headers are copied instead of cast, because the file may place them at an unaligned offset. */
static void read_phdr(const struct elf_image *img, uint64_t i, Elf64_Phdr *out)
{
	memcpy(out, img->data + img->phoff + i * sizeof(*out), sizeof(*out));
}

static void read_shdr(const struct elf_image *img, uint64_t i, Elf64_Shdr *out)
{
	memcpy(out, img->data + img->shoff + i * sizeof(*out), sizeof(*out));
}

static int check_ident(const struct elf_image *img, struct err *err)
{
	if (img->len < EI_NIDENT || memcmp(img->data, ELFMAG, SELFMAG))
		return err_set(err, -ENOEXEC, "not an ELF file");
	if (img->data[EI_CLASS] == ELFCLASS32)
		return err_set(err, -ENOEXEC, "32-bit ELF files are not supported");
	if (img->data[EI_CLASS] != ELFCLASS64)
		return err_set(err, -ENOEXEC, "unknown ELF class %u", img->data[EI_CLASS]);
	if (img->data[EI_DATA] != ELFDATA2LSB)
		return err_set(err, -ENOEXEC, "big-endian ELF files are not supported");
	if (img->len < sizeof(Elf64_Ehdr))
		return err_set(err, -EBADMSG, "ELF header is truncated");
	return 0;
}

/*
 * Counts that do not fit into the header are in section 0 (gABI, "ELF Header"): e_shnum 0,
 * e_shstrndx SHN_XINDEX, e_phnum PN_XNUM.
 */
static void parse_sections(struct elf_image *img, const Elf64_Ehdr *eh)
{
	Elf64_Shdr first;

	if (!eh->e_shoff || eh->e_shentsize != sizeof(Elf64_Shdr))
		return;
	if (!table_in(eh->e_shoff, 1, sizeof(first), img->len))
		return;
	img->shoff = eh->e_shoff;
	read_shdr(img, 0, &first);
	img->n_shdrs = eh->e_shnum ? eh->e_shnum : first.sh_size;
	img->shstrndx = eh->e_shstrndx == SHN_XINDEX ? first.sh_link : eh->e_shstrndx;
	if (img->n_shdrs > UINT32_MAX ||
	    !table_in(img->shoff, img->n_shdrs, sizeof(first), img->len))
		img->n_shdrs = 0;
}

/* An image without program headers is valid: it is an object file or a separate debug file. */
static int count_phdrs(struct elf_image *img, const Elf64_Ehdr *eh, struct err *err)
{
	img->phoff = eh->e_phoff;
	img->n_phdrs = eh->e_phnum;
	if (eh->e_phnum == PN_XNUM) {
		Elf64_Shdr first;

		if (!img->n_shdrs)
			return err_set(err, -EBADMSG, "number of program headers is missing");
		read_shdr(img, 0, &first);
		img->n_phdrs = first.sh_info;
	}
	if (!img->n_phdrs)
		return 0;
	/* the kernel runs no file with more than 64 KiB of them, and they are searched often */
	if (img->n_phdrs > PHDRS_MAX)
		return err_set(err, -EBADMSG, "more than %d program headers", PHDRS_MAX);
	if (eh->e_phentsize != sizeof(Elf64_Phdr))
		return err_set(err, -EBADMSG, "program headers of %u bytes each are not supported",
			       eh->e_phentsize);
	if (!table_in(img->phoff, img->n_phdrs, sizeof(Elf64_Phdr), img->len))
		return err_set(err, -EBADMSG, "program headers lie outside the file");
	return 0;
}

/*
 * p_filesz is limited to the memory size and to what the file contains, so that the bytes of a
 * segment are always within the mapping. A truncated file loses only its missing part.
 */
static int add_segment(struct elf_image *img, const Elf64_Phdr *ph, struct err *err)
{
	struct elf_segment *s = &img->segments[img->n_segments];
	uint64_t in_file = ph->p_offset < img->len ? img->len - ph->p_offset : 0;

	if (ph->p_memsz > UINT64_MAX - ph->p_vaddr)
		return err_set(err, -EBADMSG, "segment at %#lx wraps around the address space",
			       (unsigned long)ph->p_vaddr);
	*s = (struct elf_segment){
		.vaddr = ph->p_vaddr,
		.memsz = ph->p_memsz,
		.file_off = ph->p_offset,
		.filesz = ph->p_filesz < ph->p_memsz ? ph->p_filesz : ph->p_memsz,
		.exec = ph->p_flags & PF_X,
	};
	if (s->filesz > in_file)
		s->filesz = in_file;
	img->n_segments++;
	return 0;
}

/* Segments beyond ELF_SEGMENTS_MAX are ignored; linkers create four to six. */
static int parse_segments(struct elf_image *img, struct err *err)
{
	for (uint64_t i = 0; i < img->n_phdrs && img->n_segments < ELF_SEGMENTS_MAX; i++) {
		Elf64_Phdr ph;
		int r;

		read_phdr(img, i, &ph);
		if (ph.p_type != PT_LOAD)
			continue;
		r = add_segment(img, &ph, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * Sections come first, because section 0 may hold the number of program headers. Invalid section
 * headers are not an error: a program runs without them.
 */
static int image_parse(struct elf_image *img, struct err *err)
{
	Elf64_Ehdr eh;
	int r;

	r = check_ident(img, err);
	if (r < 0)
		return r;
	memcpy(&eh, img->data, sizeof(eh));
	img->type = eh.e_type;
	img->machine = eh.e_machine;
	img->entry = eh.e_entry;

	parse_sections(img, &eh);
	r = count_phdrs(img, &eh, err);
	if (r < 0)
		return r;
	return parse_segments(img, err);
}

/*
 * The file is mapped before a page of zeros, so that a string that was terminated when it was
 * checked stays so when the file's owner overwrites its NUL.
 */
static int image_map(struct elf_image *img, int fd, struct err *err)
{
	struct stat st;
	void *p;

	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "cannot stat the file: %m");
	if (!S_ISREG(st.st_mode))
		return err_set(err, -ENOEXEC, "not a regular file");
	if (!st.st_size)
		return err_set(err, -ENOEXEC, "file is empty");

	img->map_len = (size_t)st.st_size + (size_t)sysconf(_SC_PAGESIZE);
	p = mmap(NULL, img->map_len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return err_set(err, -errno, "cannot map the file: %m");
	img->map = p;
	if (mmap(p, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
		return err_set(err, -errno, "cannot map the file: %m");
	img->data = p;
	img->len = (size_t)st.st_size;
	return 0;
}

int elf_image_open(struct elf_image **out, int fd, struct err *err)
{
	_cleanup_(elf_image_freep) struct elf_image *img = calloc(1, sizeof(*img));
	int r;

	if (!img)
		return -ENOMEM;
	r = image_map(img, fd, err);
	if (r < 0)
		return r;
	r = image_parse(img, err);
	if (r < 0)
		return r;
	*out = steal_ptr(&img);
	return 0;
}

int elf_image_from_memory(struct elf_image **out, const void *data, size_t len, struct err *err)
{
	_cleanup_(elf_image_freep) struct elf_image *img = calloc(1, sizeof(*img));
	int r;

	if (!img)
		return -ENOMEM;
	img->data = data;
	img->len = len;
	r = image_parse(img, err);
	if (r < 0)
		return r;
	*out = steal_ptr(&img);
	return 0;
}

void elf_image_free(struct elf_image *img)
{
	if (!img)
		return;
	if (img->map)
		munmap(img->map, img->map_len);
	free(img);
}

void elf_image_release_pages(const struct elf_image *img)
{
	/* the memory is read-only, so munmap() cannot lose data */
	if (img->map)
		(void)madvise(img->map, img->map_len, MADV_DONTNEED);
}

uint16_t elf_image_machine(const struct elf_image *img)
{
	return img->machine;
}

uint16_t elf_image_type(const struct elf_image *img)
{
	return img->type;
}

uint64_t elf_image_entry(const struct elf_image *img)
{
	return img->entry;
}

size_t elf_image_len(const struct elf_image *img)
{
	return img->len;
}

size_t elf_image_segments(const struct elf_image *img, const struct elf_segment **out)
{
	*out = img->segments;
	return img->n_segments;
}

/*
 * Segments may overlap in the file, since a page can be mapped twice. Executable ones are
 * preferred, because the callers' addresses are those of code.
 */
int elf_image_vaddr_of(const struct elf_image *img, uint64_t file_off, uint64_t *out_vaddr)
{
	for (int exec = 1; exec >= 0; exec--) {
		for (size_t i = 0; i < img->n_segments; i++) {
			const struct elf_segment *s = &img->segments[i];

			if (s->exec == exec && file_off >= s->file_off &&
			    file_off - s->file_off < s->filesz) {
				*out_vaddr = s->vaddr + (file_off - s->file_off);
				return 0;
			}
		}
	}
	return -ENOENT;
}

/* The segment whose bytes in the file hold [@vaddr, @vaddr + @len), with @len > 0. */
static const struct elf_segment *segment_of(const struct elf_image *img, uint64_t vaddr,
					    uint64_t len)
{
	for (int exec = 1; exec >= 0; exec--) {
		for (size_t i = 0; i < img->n_segments; i++) {
			const struct elf_segment *s = &img->segments[i];

			if (s->exec == exec && vaddr >= s->vaddr &&
			    range_in(vaddr - s->vaddr, len, s->filesz))
				return s;
		}
	}
	return NULL;
}

int elf_image_offset_of(const struct elf_image *img, uint64_t vaddr, uint64_t *out_file_off)
{
	const struct elf_segment *s = segment_of(img, vaddr, 1);

	if (!s)
		return -ENOENT;
	*out_file_off = s->file_off + (vaddr - s->vaddr);
	return 0;
}

int elf_image_at_vaddr(const struct elf_image *img, uint64_t vaddr, size_t len,
		       struct elf_span *out)
{
	const struct elf_segment *s = segment_of(img, vaddr, len ? len : 1);
	uint64_t off;

	if (!s)
		return -ENOENT;
	off = s->file_off + (vaddr - s->vaddr);
	*out = (struct elf_span){ img->data + off, len, vaddr, off };
	return 0;
}

int elf_image_at_offset(const struct elf_image *img, uint64_t file_off, uint64_t len,
			struct elf_span *out)
{
	if (!range_in(file_off, len, img->len))
		return -EBADMSG;
	*out = (struct elf_span){ img->data + file_off, len, 0, file_off };
	return 0;
}

/* The address of a section is that in the process, so it is set only if the section is loaded. */
static int section_span(const struct elf_image *img, const Elf64_Shdr *sh, struct elf_span *out)
{
	int r;

	if (sh->sh_type == SHT_NOBITS)
		return -ENODATA;
	if (sh->sh_flags & SHF_COMPRESSED)
		return -ENOTSUP;
	r = elf_image_at_offset(img, sh->sh_offset, sh->sh_size, out);
	if (r < 0)
		return r;
	if (sh->sh_flags & SHF_ALLOC)
		out->vaddr = sh->sh_addr;
	return 0;
}

int elf_image_section_at(const struct elf_image *img, uint32_t index, struct elf_span *out)
{
	Elf64_Shdr sh;

	if (index == SHN_UNDEF || index >= img->n_shdrs)
		return -ENOENT;
	read_shdr(img, index, &sh);
	return section_span(img, &sh, out);
}

size_t elf_image_n_sections(const struct elf_image *img)
{
	return img->n_shdrs;
}

int elf_image_section_header(const struct elf_image *img, uint32_t index, struct elf_section *out)
{
	Elf64_Shdr sh;

	if (index >= img->n_shdrs)
		return -ENOENT;
	read_shdr(img, index, &sh);
	*out = (struct elf_section){
		.type = sh.sh_type,
		.link = sh.sh_link,
		.info = sh.sh_info,
		.flags = sh.sh_flags,
		.vaddr = sh.sh_addr,
		.file_off = sh.sh_offset,
		.size = sh.sh_size,
		.entsize = sh.sh_entsize,
	};
	return 0;
}

/*
 * The name is compared with its NUL, so a prefix does not match. A linear search is sufficient,
 * because callers look up a few sections once per file.
 */
int elf_image_section_index(const struct elf_image *img, const char *name, uint32_t *out_index)
{
	size_t name_len = strlen(name) + 1;
	struct elf_span strs;

	if (elf_image_section_at(img, img->shstrndx, &strs) < 0)
		return -ENOENT;
	for (uint32_t i = 1; i < img->n_shdrs; i++) {
		Elf64_Shdr sh;

		read_shdr(img, i, &sh);
		if (range_in(sh.sh_name, name_len, strs.len) &&
		    !memcmp(strs.data + sh.sh_name, name, name_len)) {
			*out_index = i;
			return 0;
		}
	}
	return -ENOENT;
}

int elf_image_section(const struct elf_image *img, const char *name, struct elf_span *out)
{
	uint32_t index;
	int r = elf_image_section_index(img, name, &index);

	return r < 0 ? r : elf_image_section_at(img, index, out);
}

int elf_image_section_of_type(const struct elf_image *img, uint32_t sh_type, struct elf_span *out,
			      uint32_t *out_link)
{
	for (uint64_t i = 1; i < img->n_shdrs; i++) {
		Elf64_Shdr sh;
		int r;

		read_shdr(img, i, &sh);
		if (sh.sh_type != sh_type)
			continue;
		r = section_span(img, &sh, out);
		if (r == 0 && out_link)
			*out_link = sh.sh_link;
		return r;
	}
	return -ENOENT;
}

int elf_image_phdr_nth(const struct elf_image *img, uint32_t p_type, size_t nth,
		       struct elf_span *out)
{
	for (uint64_t i = 0; i < img->n_phdrs; i++) {
		Elf64_Phdr ph;
		int r;

		read_phdr(img, i, &ph);
		if (ph.p_type != p_type || nth--)
			continue;
		r = elf_image_at_offset(img, ph.p_offset, ph.p_filesz, out);
		if (r == 0)
			out->vaddr = ph.p_vaddr;
		return r;
	}
	return -ENOENT;
}

int elf_image_phdr(const struct elf_image *img, uint32_t p_type, struct elf_span *out)
{
	return elf_image_phdr_nth(img, p_type, 0, out);
}

const char *elf_span_string(const struct elf_span *strs, uint64_t off)
{
	if (off >= strs->len || !memchr(strs->data + off, '\0', strs->len - off))
		return NULL;
	return (const char *)strs->data + off;
}
