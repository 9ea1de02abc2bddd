/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The executables and libraries that processes have mapped. Each distinct content has one id
 * for the whole recording (the file id of FRAME_NATIVE words), however many processes, paths
 * or containers map it. The table keeps a descriptor of each file, so that a file that is
 * deleted or replaced meanwhile can still be read. Readers read the files (src/reader), for their
 * unwind tables as well (table_maker.h); none of them is parsed in this process.
 *
 * At most half of the descriptors that this process may open hold files, and at most a quarter
 * those that one user other than root owns, so that no program can exhaust them. Files beyond that
 * share one id, whose path gives the reason; they are opened when others have been closed.
 *
 * One thread. Another thread may call file_table_get() under a lock that both respect (see
 * frame_symbols_opts.lock).
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "process/mapped_file.h"

struct err;
struct file_table;
struct langs;
struct role_pool;
struct table_maker;
struct unwind_tables;

/* The path of all files that are not open because too many others are. */
#define FILE_TABLE_REFUSED "[file not opened: too many open files]"

/*
 * The path of all files that are not read because their file system does not respond, or because
 * they would have to be copied and are too large for that.
 */
#define FILE_TABLE_UNREAD "[file not read: remote file system]"

/* FILE_TABLE_SWEEP_ABOVE: number of files above which file_table_needs_sweep(). */
enum { FILE_ID_NONE = 0, FILE_TABLE_SWEEP_ABOVE = 2048 };

struct file_table_opts {
	struct unwind_tables *tables;
	struct role_pool *readers; /* of reader_role; n_table_readers + 1 processes */
	unsigned int n_table_readers;
	size_t table_bytes; /* limit of one unwind table */
};

/* The objects that @opts refers to are borrowed until file_table_free(). Returns 0 or -errno. */
int file_table_new(struct file_table **out, const struct file_table_opts *opts);

/* Replaces the limit of descriptors, half of RLIMIT_NOFILE, for tests. */
void file_table_set_limit(struct file_table *f, unsigned int n_descriptors);

void file_table_free(struct file_table *f);

DEFINE_FREEP(struct file_table, file_table_free)

/*
 * Enables the detection of language runtimes in files that are found from now on. @langs is
 * borrowed.
 */
void file_table_set_langs(struct file_table *f, struct langs *langs);

/*
 * Returns the id of the file behind a mapping, opening and identifying it if it is new; beyond the
 * limit of descriptors, the id of FILE_TABLE_REFUSED; for a file that cannot be read without
 * waiting, that of FILE_TABLE_UNREAD. FILE_ID_NONE if memory or ids ran out.
 */
uint32_t file_table_find(struct file_table *f, const struct file_ref *ref);

/*
 * Returns the id of the vDSO, one for all 64-bit processes; FILE_ID_NONE if the kernel
 * provides none.
 */
uint32_t file_table_vdso(struct file_table *f);

/* Has the unwind tables of these files made; borrowed. */
struct table_maker *file_table_maker(struct file_table *f);

/*
 * Eviction: now and then, and when file_table_needs_sweep(), call file_table_mark() for each file
 * that is still in use, then file_table_sweep(). A file that was not marked in two sweeps in a row
 * is closed, its unwind table is dropped, and its id may be reused; the id that was freed first is
 * reused first. Language runtimes age with their files (langs_sweep()).
 */
bool file_table_needs_sweep(const struct file_table *f);
void file_table_mark(struct file_table *f, uint32_t id);
void file_table_sweep(struct file_table *f, uint64_t now_ns);
uint64_t file_table_n_forgotten(const struct file_table *f);
uint64_t file_table_n_refused(const struct file_table *f); /* how often the limit was hit */
uint64_t file_table_n_full(const struct file_table *f);    /* files that found no free id */
/* Limits all copies of remote files together; they are limited to 64 MiB by default. */
void file_table_set_copies_max(struct file_table *f, uint64_t bytes);
uint64_t file_table_copied_bytes(const struct file_table *f); /* in copies of remote files */
uint64_t file_table_n_unread(const struct file_table *f);     /* tries of files that are not read */
/* Returns true if the id stands for files that were not read, and are worth another try. */
bool file_table_is_unread(const struct file_table *f, uint32_t id);

/* Borrowed until the file is evicted; NULL for an id that is not in use. */
const struct file_info *file_table_get(const struct file_table *f, uint32_t id);
uint32_t file_table_count(const struct file_table *f); /* ids are 1 to this count */
uint32_t file_table_n_live(const struct file_table *f);
