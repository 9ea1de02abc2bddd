/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The day files of a store: DIR/TENANT/YYYY-MM-DD.db, one for each tenant and UTC day. Nothing here
 * opens a file, and names that do not have this form are ignored, so an administrator may put other
 * files into the directory. Any thread; the caller prevents that two threads rename or unlink one
 * file.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "store/store.h"

struct err;

enum {
	DAY_FILES_PATH_LEN = 4096,
	DAY_FILES_BELOW_DIR = 256, /* of these, for what follows the store's directory */
	DAY_FILES_DATE_LEN = 40,   /* room for three numbers; a valid date takes 10 characters */
};

struct day_file {
	int64_t number; /* days since 1970 */
	char tenant[STORE_TENANT_MAX + 1];
	uint64_t bytes; /* on disk; 0 from day_files_list_tenant() */
	bool is_lost;   /* only the manifest knows of it (day_list.h) */
};

/* A list of files, oldest day first. */
struct day_files {
	VEC(struct day_file);
};

void day_files_fini(struct day_files *f);
void day_files_sort(struct day_files *f);

/* Returns 0, or -ENAMETOOLONG with the reason for a directory that day_files_path() cannot use. */
int day_files_check_dir(const char *dir, struct err *err);

/*
 * Writes a path of at most DAY_FILES_PATH_LEN bytes to @out. @tenant must be valid, and @dir must
 * have passed day_files_check_dir(): it leaves DAY_FILES_BELOW_DIR bytes.
 */
void day_files_path(const char *dir, const char *tenant, int64_t number, char *out);

/*
 * Bytes of the blocks that a file has on the disk, which is not its length; 0 if it does not exist.
 */
uint64_t day_files_bytes(const char *path);

/*
 * A hash of which files of a tenant exist for the days @first to @last, and of identity, size and
 * times of each of them and of its log; never 0. @io_changed_ns, which may be NULL, is raised to
 * the time of the last change by the clock of the file system: a later change in the same tick of
 * that clock may have the same stamp. day_files_stamp_day() is that of one day, whose path it
 * takes.
 */
uint64_t day_files_stamp(const char *dir, const char *tenant, int64_t first, int64_t last,
			 int64_t *io_changed_ns);
uint64_t day_files_stamp_day(const char *path, int64_t *io_changed_ns);

/* Writes the date of a day, by which its file is named. */
void day_files_date(int64_t number, char out[DAY_FILES_DATE_LEN]);

/* The length of the index of a file's log (-shm), or -errno: there may be none. */
int64_t day_files_index_len(const char *path);

/*
 * Does a directory that holds only such entries count as empty? They are ".", ".." and the
 * lost+found of a new file system.
 */
bool day_files_is_no_entry(const char *name);

/* Days since 1970 of a name such as "2026-11-21.db"; -1 for any other name. */
int64_t day_files_day(const char *name);

/*
 * Append the files of all tenants, with their sizes, or of one tenant. Return 0 or -errno: -ENOENT
 * if there is no directory @dir; a tenant without a directory has no files. A listing is a
 * snapshot: files may be added or removed before it is used. After an error @out holds a part of
 * it.
 */
int day_files_list(const char *dir, struct day_files *out);
int day_files_list_tenant(const char *dir, const char *tenant, struct day_files *out);

/*
 * Removes a day's file and its write-ahead log. Returns 0 or -errno. A file that does not exist is
 * not an error.
 */
int day_files_unlink(const char *dir, const char *tenant, int64_t number);
