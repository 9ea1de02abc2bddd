/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The files that the symbolizer knows: for each key, what symbol_file has, its debug information
 * (DWARF, and the symbol tables of the debug file and of .gnu_debugdata), within budgets. The
 * process has one thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/debug_search.h"
#include "symbol/protocol.h"

struct dwarf_frame;
struct elf_symbol;
struct symbol_file;
struct worker_file;
struct worker_files;

/*
 * @max_bytes limits the memory of debug information; that of the file used least recently is closed
 * first. @ctx is passed to @need. Returns 0 or -ENOMEM.
 */
int worker_files_new(struct worker_files **out, size_t max_bytes, debug_need_fn need, void *ctx);

/* Closes all files. The process itself exits without it. */
void worker_files_free(struct worker_files *fs);

/*
 * Finds or adds the file @key. Above 1024 files, the one used least recently is forgotten. The
 * result is valid until the next call; NULL: no memory.
 */
struct worker_file *worker_files_get(struct worker_files *fs, uint64_t key);

/* The file itself, borrowed from @f. */
struct symbol_file *worker_file_own(const struct worker_file *f);

/*
 * Opens the debug information of @f, which is in use (symbol_file_use()), unless that was done for
 * this @debug_version. Returns true if there is any.
 */
bool worker_file_open_debug(struct worker_files *fs, struct worker_file *f, uint32_t debug_version);

/*
 * Finds the frames of DWARF at @vaddr, as dwarf_frames(): @out has room for @cap. Returns their
 * number; 0 if there are none.
 */
int worker_file_dwarf_frames(struct worker_file *f, uint64_t vaddr, struct dwarf_frame *out,
			     size_t cap);

/* Finds the symbol at @vaddr in .gnu_debugdata or the debug file. */
bool worker_file_debug_symbol(const struct worker_file *f, uint64_t vaddr, struct elf_symbol *out);

/*
 * Ends the use of @f, and obeys the budgets: that of debug information, and @table_bytes for the
 * symbol tables of all files. Call it at the end of a request.
 */
void worker_files_end(struct worker_files *fs, struct worker_file *f, size_t table_bytes);

/* Bytes of the symbol tables of all files. */
size_t worker_files_table_bytes(const struct worker_files *fs);
