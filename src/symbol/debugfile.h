/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Opening the files in which a distribution or a build keeps debug information
 * apart from the executable. Names come from strangers' files, so every path
 * is resolved inside a root (the process's, then the host's), and what is
 * opened is a regular ELF file or nothing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/note.h"

/* Where to look; descriptors of root directories, borrowed; -1: none. */
struct debugfile_roots {
	int process, host;
};

/* What is known of the file whose debug information is wanted. */
struct debugfile_of {
	struct debugfile_roots roots;
	const char *path; /* as the process sees it, absolute; "" if not known */
	struct elf_build_id build_id;
	const char *link; /* .gnu_debuglink's file name, NULL if it has none */
	uint32_t link_crc;
};

/* All return a descriptor that becomes the caller's, or -ENOENT, -errno. */

/* By build id and by .gnu_debuglink (build id or CRC must match), in /usr/lib/debug and beside. */
int debugfile_open(const struct debugfile_of *of);

/* By build id only, in one root: what is cheap enough to do at once. */
int debugfile_open_by_id(int root, const struct elf_build_id *id);

/* dwz's alternate file, by path (relative to the debug file's directory) or by build id. */
int debugfile_open_alt(const struct debugfile_of *of, const char *name, const uint8_t *id,
		       size_t id_len);

/* A split unit: @name, relative to @dir or beside the executable. */
int debugfile_open_dwo(const struct debugfile_of *of, const char *name, const char *dir);

/* All split units: PATH.dwp. */
int debugfile_open_dwp(const struct debugfile_of *of);

/* Is @fd an ELF file with this build id? */
bool debugfile_check(int fd, const struct elf_build_id *id);

/* An ELF file at @path with this build id. */
int debugfile_open_checked(int root, const char *path, const struct elf_build_id *id);

/* An ELF file at @path inside @root, symbolic links resolved inside it too. */
int debugfile_open_at(int root, const char *path);
