/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A bounds-checked view of an ELF file (ELF64, little endian) that a stranger
 * wrote. Everything that the privileged process reads from such a file goes
 * through here; nothing below trusts an offset, a size or a count.
 *
 * Spans are not aligned: read structures out of them with memcpy.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct err;
struct elf_image;

/* A checked window into the file; valid as long as its image is. */
struct elf_span {
	const uint8_t *data;
	size_t len;
	uint64_t vaddr;    /* address in the file's own terms; 0 if not loaded */
	uint64_t file_off; /* of data[0] */
};

struct elf_segment { /* a PT_LOAD */
	uint64_t vaddr;
	uint64_t memsz;
	uint64_t file_off;
	uint64_t filesz; /* clipped to the file */
	bool exec;
};

/* A section's header as the file states it; the data is checked when it is asked for. */
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
 * The file is mapped read-only; @fd is not kept and stays the caller's. A file
 * that is truncated while mapped raises SIGBUS in the reader: see
 * base/sigbus.h, which every reader of a stranger's file runs under.
 *
 * Return: 0 and a new image in *@out, to be freed with elf_image_free();
 * -ENOEXEC if this is not an ELF file we read (not a regular file, magic,
 * class, byte order); -EBADMSG if its program headers lie; -errno otherwise.
 * Section headers that lie count as none, as they do to the kernel: such a
 * program runs, and its segments are still good.
 */
int elf_image_open(struct elf_image **out, int fd, struct err *err);

/* The same over bytes in memory (vDSO, fuzzer, minidebuginfo); @data is borrowed. */
int elf_image_from_memory(struct elf_image **out, const void *data, size_t len, struct err *err);
void elf_image_free(struct elf_image *img);

DEFINE_FREEP(struct elf_image, elf_image_free)

/*
 * It will not be read for a while: the memory that the file's pages take goes
 * back. What is read afterwards comes from the file again; spans stay valid.
 */
void elf_image_rest(const struct elf_image *img);

uint16_t elf_image_machine(const struct elf_image *img); /* EM_* */
uint16_t elf_image_type(const struct elf_image *img);    /* ET_* */
uint64_t elf_image_entry(const struct elf_image *img);   /* e_entry */
size_t elf_image_len(const struct elf_image *img);       /* bytes of the file */

/* PT_LOAD segments in file order; borrowed. At most ELF_SEGMENTS_MAX are kept. */
enum { ELF_SEGMENTS_MAX = 64 };
size_t elf_image_segments(const struct elf_image *img, const struct elf_segment **out);

/*
 * File offset <-> address in the file's terms, by PT_LOAD; -ENOENT if no
 * segment holds it. Executable segments are asked first: where a file's bytes
 * are mapped twice, callers mean code.
 */
int elf_image_vaddr_of(const struct elf_image *img, uint64_t file_off, uint64_t *out_vaddr);
int elf_image_offset_of(const struct elf_image *img, uint64_t vaddr, uint64_t *out_file_off);

/*
 * Section by name, by type (first one) or by index; -ENOENT when there is
 * none, -EBADMSG when it is not wholly in the file, -ENODATA when it is
 * SHT_NOBITS (a debug file's) and -ENOTSUP when it is SHF_COMPRESSED (the
 * unprivileged symbolizer reads those). @out_link may be NULL.
 */
int elf_image_section(const struct elf_image *img, const char *name, struct elf_span *out);
int elf_image_section_of_type(const struct elf_image *img, uint32_t sh_type, struct elf_span *out,
			      uint32_t *out_link);
int elf_image_section_at(const struct elf_image *img, uint32_t index, struct elf_span *out);

/* Number of section headers, and one of them: 0 or -ENOENT. */
size_t elf_image_n_sections(const struct elf_image *img);
int elf_image_section_header(const struct elf_image *img, uint32_t index, struct elf_section *out);

/* The name's index: 0 or -ENOENT. */
int elf_image_section_index(const struct elf_image *img, const char *name, uint32_t *out_index);

/*
 * What a program header of @p_type (PT_DYNAMIC, PT_GNU_EH_FRAME, ...) points
 * to: the first one, or the @nth from 0. -ENOENT when there is none, -EBADMSG
 * when it is not wholly in the file.
 */
int elf_image_phdr(const struct elf_image *img, uint32_t p_type, struct elf_span *out);
int elf_image_phdr_nth(const struct elf_image *img, uint32_t p_type, size_t nth,
		       struct elf_span *out);

/* @len bytes of the file at the address @vaddr; -ENOENT if they are not all in one segment. */
int elf_image_at_vaddr(const struct elf_image *img, uint64_t vaddr, size_t len,
		       struct elf_span *out);

/* @len bytes of the file at @file_off; -EBADMSG if they are not all in it. */
int elf_image_at_offset(const struct elf_image *img, uint64_t file_off, uint64_t len,
			struct elf_span *out);

/* A NUL-terminated string at @off in @strs, or NULL when it runs out of the span. */
const char *elf_span_string(const struct elf_span *strs, uint64_t off);
