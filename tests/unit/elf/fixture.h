/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The tests of this folder build ELF files section by section with these functions. */
#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "elf/image.h"

enum { FIXTURE_SECTIONS_MAX = 32, FIXTURE_SEGMENTS_MAX = 4 };

struct fixture {
	Elf64_Shdr sh[FIXTURE_SECTIONS_MAX];
	uint32_t n_sections; /* the null section included */
	Elf64_Phdr ph[FIXTURE_SEGMENTS_MAX];
	uint16_t n_segments;
	struct buf bytes; /* header, then the sections' data */
	struct buf names;
	struct elf_image *img;
};

void fixture_init(struct fixture *f);
void fixture_fini(struct fixture *f);

/*
 * Adds a section with a copy of @data and returns its index. Its header may be changed until
 * fixture_open().
 */
uint32_t fixture_add(struct fixture *f, const char *name, uint32_t type, const void *data,
		     size_t len);

/* Makes a section that was added a segment, at @vaddr and with @flags (PF_X...). */
void fixture_load(struct fixture *f, uint32_t section, uint64_t vaddr, uint32_t flags);

/*
 * Adds .dynsym, .dynstr and .gnu.hash with @n functions or variables: names, and the other fields
 * of @syms, whose st_name is set here.
 */
void fixture_add_dynamic(struct fixture *f, const char *const *names, Elf64_Sym *syms, size_t n);

/* Completes the file and opens it. The fixture owns the image. */
const struct elf_image *fixture_open(struct fixture *f);

/* Completes the file and returns a descriptor of a copy in memory, owned by the caller. */
int fixture_memfd(struct fixture *f);

/* Adds a note with the @len bytes of @id, of which any may be 0, as build id. */
void fixture_add_build_id(struct fixture *f, const void *id, size_t len);
