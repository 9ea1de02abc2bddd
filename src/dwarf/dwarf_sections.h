/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds the debug sections of one ELF file (an executable, a separate debug
 * file, a .dwo, a .dwp or dwz's alternate file), and decompresses them where
 * necessary.
 */
#include <stddef.h>

#include "base/cleanup.h"
#include "elf/image.h"

enum dwarf_section {
	DWARF_INFO,
	DWARF_ABBREV,
	DWARF_STR,
	DWARF_LINE,
	DWARF_LINE_STR,
	DWARF_RANGES,
	DWARF_RNGLISTS,
	DWARF_ADDR,
	DWARF_STR_OFFSETS,
	DWARF_CU_INDEX,
	DWARF_SECTION_MAX,
};

/* Plain sections refer to the mapped file, decompressed ones to @heap. */
struct dwarf_sections {
	struct elf_image *img;
	struct elf_span s[DWARF_SECTION_MAX]; /* data is NULL if absent */
	void *heap[DWARF_SECTION_MAX];        /* decompressed data; owned */
	size_t heap_bytes;
};

/**
 * dwarf_sections_open() - find and decompress the debug sections of a file
 *
 * Decompressed sections take at most @max_heap bytes in total. @fd remains the
 * caller's.
 *
 * Return: 0; -ENODATA if there is no .debug_info; -E2BIG over @max_heap;
 * -EBADMSG if a compressed section is invalid; -ENOEXEC; -errno.
 */
int dwarf_sections_open(struct dwarf_sections **out, int fd, size_t max_heap, struct err *err);

/* Does the same for an ELF file in memory; @data is borrowed for the lifetime of the result. */
int dwarf_sections_from_memory(struct dwarf_sections **out, const void *data, size_t len,
			       size_t max_heap, struct err *err);
void dwarf_sections_free(struct dwarf_sections *s);

DEFINE_FREEP(struct dwarf_sections, dwarf_sections_free)
