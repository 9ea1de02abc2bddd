/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds the functions, inlined calls, source files and lines at an address in
 * one file's DWARF (versions 2 to 5). It runs in the unprivileged symbol
 * worker, which cannot open files: a callback supplies the other files that
 * the DWARF refers to. Types, variables and expressions are not read. Not
 * thread-safe.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct dwarf;
struct err;

enum dwarf_need_kind {
	DWARF_NEED_ALT, /* dwz's alternate file, by @name and build id (.gnu_debugaltlink) */
	DWARF_NEED_DWO, /* a split unit's .dwo: @name in @dir, and the 8-byte DWO id */
	DWARF_NEED_DWP, /* the .dwp next to the executable, which holds all split units */
	DWARF_NEED_MAX,
};

struct dwarf_need {
	enum dwarf_need_kind kind;
	const char *name, *dir; /* "" if not applicable */
	const uint8_t *id;
	size_t id_len;
};

/* Opens a file. Returns a descriptor, which this module closes, or -errno. */
typedef int (*dwarf_need_fn)(void *ctx, const struct dwarf_need *need);

struct dwarf_opts {
	size_t max_heap; /* limit on the size of decompressed sections, in bytes */
	dwarf_need_fn need;
	void *need_ctx;
};

struct dwarf_frame {
	const char *name;       /* DW_AT_name; "" if absent */
	const char *linkage;    /* DW_AT_linkage_name, mangled; "" if absent */
	const char *file;       /* "" if unknown */
	uint32_t line;          /* 0 if unknown */
	uint32_t decl_line;     /* DW_AT_decl_line; 0 if absent */
	uint16_t lang;          /* DW_LANG_* */
	uint16_t discriminator; /* see struct dwarf_position */
	const uint8_t *md5;     /* of the compiled @file, 16 bytes; NULL: unknown */
};

enum { DWARF_FRAMES_MAX = 128 };

/**
 * dwarf_open() - index the units in a file's .debug_info by address
 *
 * @fd remains the caller's. The file stays mapped, so call all functions under
 * sigbus_run() or in a process that may die if the file shrinks.
 *
 * Return: 0; -ENODATA if the file has no .debug_info; otherwise as
 * dwarf_sections_open().
 */
int dwarf_open(struct dwarf **out, int fd, const struct dwarf_opts *opts, struct err *err);

/* Opens an ELF file in memory; @data is borrowed for the lifetime of the result. */
int dwarf_from_memory(struct dwarf **out, const void *data, size_t len,
		      const struct dwarf_opts *opts, struct err *err);
void dwarf_free(struct dwarf *d);

DEFINE_FREEP(struct dwarf, dwarf_free)

/* Releases the resident pages of the mapped files, for a file that will be idle. */
void dwarf_release_pages(const struct dwarf *d);

/**
 * dwarf_frames() - find the function at @vaddr and the calls inlined there
 *
 * @out has room for @cap frames; out[0] is the innermost. Strings are valid
 * until the next dwarf_trim() or dwarf_free(). An address that has a line but
 * no function results in one frame with empty names.
 *
 * Return: the number of frames; -ENOENT; -ENOMEM.
 */
int dwarf_frames(struct dwarf *d, uint64_t vaddr, struct dwarf_frame *out, size_t cap);

/* Return the heap memory held, and free the tables that can be built again. */
size_t dwarf_bytes(const struct dwarf *d);
void dwarf_trim(struct dwarf *d);
