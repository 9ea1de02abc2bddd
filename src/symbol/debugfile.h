/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds and opens the files that hold debug information separately from the
 * executable: debug packages, .gnu_debuglink targets, dwz's alternate files,
 * .dwo and .dwp. File names come from untrusted executables, so every path is
 * resolved inside a root directory (the process's, then the host's), and only
 * regular ELF files are opened.
 *
 * Functions that open a file return a descriptor owned by the caller, -ENOENT
 * if there is no matching file, or another -errno. They keep no state and may
 * be called from any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/note.h"

/* Descriptors of the root directories to search, borrowed; -1 for none. */
struct debugfile_roots {
	int process, host;
	uint64_t user; /* of the process, on whose behalf files are opened (proc/user.h) */
};

/* Describes the executable whose debug information is searched. Strings are borrowed. */
struct debugfile_query {
	struct debugfile_roots roots;
	const char *path; /* absolute path in the process's root; "" if unknown */
	struct elf_build_id build_id;
	const char *link; /* file name in .gnu_debuglink; NULL if there is none */
	uint32_t link_crc;
};

/**
 * debugfile_open_candidate() - open one of the files that may be the separate debug file
 *
 * @i: number of the candidate, from 0. In each root the first is the file below
 * /usr/lib/debug/.build-id, then those that .gnu_debuglink names: next to the executable, in .debug
 * there, and below /usr/lib/debug.
 *
 * The file has a matching name. The caller checks its build id or CRC, which means to read it.
 *
 * Return: a descriptor; -ENOENT if this candidate does not exist; -ERANGE if there are no more.
 */
int debugfile_open_candidate(const struct debugfile_query *query, unsigned int i);

/* Opens the debug file with build id @id in one root: a single path is tried. */
int debugfile_open_by_id(int root, const struct elf_build_id *id);

/*
 * Opens one of the files that may be dwz's alternate file, which .gnu_debugaltlink names by @name
 * (absolute, or relative to the debug file's directory) and by the build id in @query. Returns the
 * same values as debugfile_open_candidate().
 */
int debugfile_open_alt_candidate(const struct debugfile_query *query, const char *name,
				 unsigned int i);

/* Opens the .dwo of a split unit: @name relative to @dir, else next to the executable. */
int debugfile_open_dwo(const struct debugfile_query *query, const char *name, const char *dir);

/* Opens PATH.dwp, the package that holds all split units of the executable PATH. */
int debugfile_open_dwp(const struct debugfile_query *query);

/* Returns true if @fd is an ELF file with this build id. Runs under sigbus_run() itself. */
bool debugfile_check(int fd, const struct elf_build_id *id);

/* Returns true if the CRC of all bytes of @fd, at most 1 GiB, is @expected. */
bool debugfile_has_crc(int fd, uint32_t expected);

/* Opens the ELF file at @path inside @root if it has this build id. */
int debugfile_open_checked(int root, const char *path, const struct elf_build_id *id);

/* Opens the ELF file at @path inside @root. Symbolic links are resolved inside @root as well. */
int debugfile_open_at(int root, const char *path);
