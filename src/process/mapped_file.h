/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One file that processes have mapped: opening the right one, whatever its path leads to by now,
 * and computing what identifies it. The file table decides which files are equal and how long each
 * is kept open. One thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "elf/note.h"
#include "lang/lang.h"

struct proc_map;

/* Identifies the file of a mapping. */
struct file_ref {
	uint32_t pid;
	uint64_t start, end; /* address range of the mapping */
	uint32_t dev_major, dev_minor;
	uint64_t inode;   /* 0: unknown */
	const char *path; /* as the process sees it */
};

/* The file of a line of /proc/PID/maps, whose path is borrowed. */
struct file_ref file_ref_of(uint32_t pid, const struct proc_map *m);

struct file_info {
	const char *path; /* as its first process sees it, or "[vdso]" */
	int fd;           /* -1: cannot be opened; symbols and unwind table are missing */
	uint64_t serial;  /* never 0 and, unlike ids, never reused */
	int root_fd; /* root directory of its first process, which may hold debug files; -1: same as
			ours */
	int debug_fd;  /* debug file found there by build id; -1: none */
	uint64_t user; /* of its first process (proc/user.h) */
	struct elf_build_id build_id;
	char build_id_hex[2 * ELF_BUILD_ID_MAX + 1];
	char htl_hash[33]; /* OpenTelemetry's process.executable.build_id.htlhash; "" if not ELF */
	bool is_elf;
	struct lang_file lang; /* the language runtime in this file, if any */
};

struct mapped_file {
	struct file_info info;
	struct stat st;         /* when the id was assigned */
	unsigned long fs_magic; /* of its file system (linux/magic.h); 0 if unknown */
	uint64_t content[2];
	bool is_copy;   /* info.fd is of a copy, because the file system may hang */
	bool is_unread; /* the file system did not respond, or the file is too large to be copied */
	/* private to table_maker.c: */
	uint32_t n_failures; /* of readers in succession */
	uint64_t retry_ns;   /* when a table that failed is tried again */
	/* private to file_table.c: */
	bool marked;
	uint8_t n_unmarked; /* consecutive sweeps without a mark */
};

struct mapped_file_context {
	struct role_pool *readers; /* of reader_role: they read what identifies the files */
	struct langs *langs;       /* may be NULL */
	int own_root;              /* of this process */
	size_t copy_max;           /* bytes that a copy may have */
};

/* Creates a mapped_file without descriptors. The path is copied. NULL if memory ran out. */
struct mapped_file *mapped_file_alloc(const char *path);

/*
 * Opens and identifies the file of a mapping. If it cannot be opened, info.fd is -1, and is_unread
 * is true if another attempt may succeed. NULL if memory ran out.
 */
struct mapped_file *mapped_file_open(const struct mapped_file_context *c,
				     const struct file_ref *ref);

/* Detects a language runtime in the file, whose entry in the walk's tables it then refers to. */
void mapped_file_detect(const struct mapped_file_context *c, struct mapped_file *file);

/*
 * Creates a mapped_file from a copy of the vDSO. NULL if the kernel provides none, or memory ran
 * out.
 */
struct mapped_file *mapped_file_vdso(const struct mapped_file_context *c);

/* Closes all descriptors. NULL is ignored. */
void mapped_file_free(struct mapped_file *file);

/*
 * Returns the user to whom the cost of a file is charged: its owner (proc_user() in proc/user.h), 0
 * for root. All ids that a user can take on in user namespaces count as one user.
 */
uint32_t mapped_file_owner(const struct mapped_file *file);

/* The number of descriptors that the file holds. */
unsigned int mapped_file_descriptors(const struct mapped_file *file);
