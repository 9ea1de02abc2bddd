/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Functions, inlined calls, files and lines at an address, from one file's
 * DWARF. Runs in the unprivileged worker; opens nothing itself, but asks for
 * the other files that the first one names.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct dwarf;
struct err;

enum dwarf_need_kind {
	DWARF_NEED_ALT, /* dwz's alternate file: @name, build id */
	DWARF_NEED_DWO, /* a unit's split half: @name in @dir, 8 bytes of id */
	DWARF_NEED_DWP, /* all units' split halves in one file beside the executable */
	DWARF_NEED_MAX,
};

struct dwarf_need {
	enum dwarf_need_kind kind;
	const char *name, *dir; /* "" if there is none */
	const uint8_t *id;
	size_t id_len;
};

/* A file descriptor that becomes the caller's, or -errno. */
typedef int (*dwarf_need_fn)(void *ctx, const struct dwarf_need *need);

struct dwarf_opts {
	size_t max_heap; /* bytes that compressed sections may take */
	dwarf_need_fn need;
	void *need_ctx;
};

struct dwarf_frame {
	const char *name;    /* DW_AT_name; "" if it has none */
	const char *linkage; /* as the linker sees it; "" if DWARF does not say */
	const char *file;    /* "" if not known */
	uint32_t line;
	uint32_t decl_line;
	uint16_t lang; /* DW_LANG_* */
};

enum { DWARF_FRAMES_MAX = 128 };

/**
 * dwarf_open() - index a file's units by address
 *
 * @fd stays the caller's.
 *
 * Return: 0; -ENODATA if the file has no .debug_info; otherwise as
 * dwarf_sections_open().
 */
int dwarf_open(struct dwarf **out, int fd, const struct dwarf_opts *opts, struct err *err);
int dwarf_from_memory(struct dwarf **out, const void *data, size_t len,
		      const struct dwarf_opts *opts, struct err *err);
void dwarf_free(struct dwarf *d);

DEFINE_FREEP(struct dwarf, dwarf_free)

/* It will not be asked for a while: pages of its files that were read go back. */
void dwarf_rest(const struct dwarf *d);

/**
 * dwarf_frames() - the function at @vaddr and what is inlined there
 *
 * out[0] is the innermost. Strings live as long as @d. An address that has a
 * line but no function gives one frame without names.
 *
 * Return: number of frames, or -ENOENT, -ENOMEM.
 */
int dwarf_frames(struct dwarf *d, uint64_t vaddr, struct dwarf_frame *out, size_t cap);

/* Heap memory held, and letting go of what can be built again. */
size_t dwarf_bytes(const struct dwarf *d);
void dwarf_trim(struct dwarf *d);
