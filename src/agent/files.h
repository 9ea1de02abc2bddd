/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The executables and libraries that processes have mapped. Each distinct
 * content has one id for the whole recording (FRAME_NATIVE's file id), however
 * many processes, paths or containers it is mapped from. The file is kept
 * open, so that one that is deleted or replaced meanwhile can still be read.
 * One thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "elf/note.h"
#include "lang/lang.h"

struct err;
struct files;
struct unwind_tables;

/* What is known of a mapping when its file is sought. */
struct file_ref {
	uint32_t pid;
	uint64_t start, end; /* of the mapping */
	uint32_t dev_major, dev_minor;
	uint64_t inode;   /* 0: not told */
	const char *path; /* as the process sees it */
};

struct file_info {
	const char *path; /* as its first process sees it; "[vdso]" */
	int fd;           /* -1: it could not be opened (names and tables are missing) */
	uint64_t serial;  /* never 0; ids are given again, serials are not */
	int root_fd;      /* its first process's root, which may hold debug files; -1: our own */
	int debug_fd;     /* the debug file found there by build id, or -1 */
	struct elf_build_id build_id;
	char build_id_hex[2 * ELF_BUILD_ID_MAX + 1];
	char htl_hash[33]; /* OpenTelemetry's process.executable.build_id.htlhash; "" for no file */
	bool is_elf;
	struct lang_file lang; /* the virtual machine that it is */
};

enum { FILE_ID_NONE = 0, FILES_KEEP = 2048 /* more are swept */ };

int files_new(struct files **out, struct unwind_tables *tables);
void files_free(struct files *f);

DEFINE_FREEP(struct files, files_free)

/* Files found from now on are asked whether they are virtual machines. */
void files_set_langs(struct files *f, struct langs *langs);

/* The id of the file behind a mapping; FILE_ID_NONE when there is no room for more. */
uint32_t files_find(struct files *f, const struct file_ref *ref);

/* Id of the vDSO, the same for all 64-bit processes; FILE_ID_NONE if the kernel gives none. */
uint32_t files_vdso(struct files *f);

/* Build the unwind table of @id unless it is there. */
void files_need_table(struct files *f, uint32_t id, uint64_t now_ns);

/*
 * Forgetting: when files_want_sweep(), files_mark() each that may still be spoken
 * of, then files_sweep(). Those that were marked neither this time nor the time before
 * go; their ids are given again, latest of all.
 */
bool files_want_sweep(const struct files *f);
void files_mark(struct files *f, uint32_t id);
void files_sweep(struct files *f, uint64_t now_ns);
uint64_t files_n_forgotten(const struct files *f);

/* Borrowed; NULL for an id that was not given out. */
const struct file_info *files_get(const struct files *f, uint32_t id);
uint32_t files_count(const struct files *f); /* ids are 1 ... count */
uint32_t files_n_live(const struct files *f);
