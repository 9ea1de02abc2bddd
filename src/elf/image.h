/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A bounds-checked view of an ELF file (ELF64, little endian), which may be hostile. Everything
 * that the privileged process reads from such a file goes through this module, which trusts no
 * offset, size or count. Spans are not aligned: copy structures out of them with memcpy().
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct err;
struct elf_image;

/* A checked window into the file, valid as long as its image. */
struct elf_span {
	const uint8_t *data;
	size_t len;
	uint64_t vaddr;    /* address as linked; 0 if not loaded */
	uint64_t file_off; /* file offset of data[0] */
};

struct elf_segment { /* a PT_LOAD */
	uint64_t vaddr;
	uint64_t memsz;
	uint64_t file_off;
	uint64_t filesz; /* clipped to the end of the file */
	bool exec;
};

/* A section's header as in the file. The data is checked when it is requested. */
struct elf_section {
	uint32_t type; /* SHT_* */
	uint32_t link;
	uint32_t info;
	uint64_t flags; /* SHF_* */
	uint64_t vaddr;
	uint64_t file_off;
	uint64_t size;
	uint64_t entsize;
};

/**
 * elf_image_open() - map an ELF file and validate its headers
 *
 * The file is mapped read-only; @fd stays the caller's. A file that is truncated while mapped
 * raises SIGBUS in the reader: see base/sigbus.h, under which every reader of foreign files runs.
 *
 * Return: 0 and a new image in *@out, to be freed with elf_image_free(); -ENOEXEC if this is not a
 * supported ELF file (regular file, magic, class, byte order); -EBADMSG if its program headers are
 * invalid; -errno otherwise. Invalid section headers count as none, as for the kernel: such a
 * program runs, and its segments are valid.
 */
int elf_image_open(struct elf_image **out, int fd, struct err *err);

/* Like elf_image_open(), for bytes in memory (vDSO, fuzzer, minidebuginfo); @data is borrowed. */
int elf_image_from_memory(struct elf_image **out, const void *data, size_t len, struct err *err);
void elf_image_free(struct elf_image *img);

DEFINE_FREEP(struct elf_image, elf_image_free)

/*
 * Releases the memory of the file's pages, when the image will not be used for a while. Later reads
 * come from the file again; spans stay valid.
 */
void elf_image_release_pages(const struct elf_image *img);

uint16_t elf_image_machine(const struct elf_image *img); /* EM_* */
uint16_t elf_image_type(const struct elf_image *img);    /* ET_* */
uint64_t elf_image_entry(const struct elf_image *img);   /* e_entry */
size_t elf_image_len(const struct elf_image *img);       /* bytes of the file */

/* PT_LOAD segments in file order; borrowed. At most ELF_SEGMENTS_MAX are kept. */
enum { ELF_SEGMENTS_MAX = 64 };
size_t elf_image_segments(const struct elf_image *img, const struct elf_segment **out);

/*
 * Translates between file offsets and addresses as linked by PT_LOAD; -ENOENT if no segment holds
 * it. Executable segments are tried first: where bytes are mapped twice, callers mean code.
 */
int elf_image_vaddr_of(const struct elf_image *img, uint64_t file_off, uint64_t *out_vaddr);
int elf_image_offset_of(const struct elf_image *img, uint64_t vaddr, uint64_t *out_file_off);

/*
 * Finds a section by name, by type (the first one) or by index. Returns -ENOENT if there is none,
 * -EBADMSG if it is not entirely in the file, -ENODATA if it is SHT_NOBITS (in a debug file) and
 * -ENOTSUP if it is SHF_COMPRESSED (which the unprivileged symbolizer reads). @out_link may be
 * NULL.
 */
int elf_image_section(const struct elf_image *img, const char *name, struct elf_span *out);
int elf_image_section_of_type(const struct elf_image *img, uint32_t sh_type, struct elf_span *out,
			      uint32_t *out_link);
int elf_image_section_at(const struct elf_image *img, uint32_t index, struct elf_span *out);

/* The number of section headers, and one of them: 0 or -ENOENT. */
size_t elf_image_n_sections(const struct elf_image *img);
int elf_image_section_header(const struct elf_image *img, uint32_t index, struct elf_section *out);

/* Finds the index of a section by name: 0 or -ENOENT. */
int elf_image_section_index(const struct elf_image *img, const char *name, uint32_t *out_index);

/*
 * Finds the span of the first (or @nth, from 0) program header of @p_type (PT_DYNAMIC,
 * PT_GNU_EH_FRAME, ...). Returns -ENOENT if there is none, -EBADMSG if it is not entirely in the
 * file.
 */
int elf_image_phdr(const struct elf_image *img, uint32_t p_type, struct elf_span *out);
int elf_image_phdr_nth(const struct elf_image *img, uint32_t p_type, size_t nth,
		       struct elf_span *out);

/* The @len bytes at the address @vaddr; -ENOENT if they are not all in one segment. */
int elf_image_at_vaddr(const struct elf_image *img, uint64_t vaddr, size_t len,
		       struct elf_span *out);

/* The @len bytes at @file_off; -EBADMSG if they are not all in the file. */
int elf_image_at_offset(const struct elf_image *img, uint64_t file_off, uint64_t len,
			struct elf_span *out);

/* The NUL-terminated string at @off in @strs; NULL if it exceeds the span. */
const char *elf_span_string(const struct elf_span *strs, uint64_t off);
