/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The dictionary of a day as its file stores it: chunks of strings, frames, stacks and series. The
 * caller serializes access to the dictionary.
 */
#include <stdbool.h>
#include <stdint.h>

struct arrivals;
struct buf;
struct err;
struct sqlite3;
struct sqlite3_stmt;
struct stack_dict;

/*
 * Adds all chunks of the file to the new dictionary @s, then those of @a, which arrived last.
 * @checked: blobs have checksums. @out_settled, which may be NULL, receives the number of entries
 * of each kind without the latter. Returns 0; -EBADMSG with the reason if a chunk is damaged,
 * missing or out of place, or a series is malformed; -errno.
 */
int day_dict_load(struct stack_dict *s, struct sqlite3 *db, bool checked, const struct arrivals *a,
		  uint32_t *out_settled, struct err *err);

/*
 * Appends the entries of each kind from number saved[kind] on to a row of arrivals. Returns 0 or
 * -ENOMEM.
 */
int day_dict_put(const struct stack_dict *s, const uint32_t *saved, struct buf *row);

/*
 * Writes the entries of each kind from number saved[kind] on with @put, an INSERT of kind, first
 * number and data. Returns 0 or -errno. @saved is unchanged: the caller raises it after its commit.
 */
int day_dict_save(const struct stack_dict *s, const uint32_t *saved, struct sqlite3 *db,
		  struct sqlite3_stmt *put, bool checked, struct err *err);
