/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The tests of this folder build ELF files section by section with these functions. */
#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "elf/image.h"

enum { FIXTURE_SECTIONS_MAX = 32 };

struct fixture {
	Elf64_Shdr sh[FIXTURE_SECTIONS_MAX];
	uint32_t n_sections; /* the null section included */
	struct buf bytes;    /* header, then the sections' data */
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

/* Completes the file and opens it. The fixture owns the image. */
const struct elf_image *fixture_open(struct fixture *f);

/* Completes the file and returns a descriptor of a copy in memory, owned by the caller. */
int fixture_memfd(struct fixture *f);

/* Adds a note with the bytes of @id as build id. */
void fixture_add_build_id(struct fixture *f, const char *id);
