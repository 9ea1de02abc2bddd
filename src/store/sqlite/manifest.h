/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The record of the day files that a tenant had: DIR/TENANT/manifest, one line per file with its
 * day, identity, a number of windows that it had at least, and a checksum of the line. A file that
 * was deleted, replaced or restored from an older copy differs from it, before and after a restart.
 *
 * A line is removed before retention deletes the file, so a file without a line is not a loss, and
 * a line without a file is one. An administrator who accepts a loss deletes the line while no
 * server has the directory open. The caller serializes access.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "store/sqlite/db.h"
#include "store/store.h"

struct manifest_entry {
	int64_t day; /* days since 1970 */
	struct db_identity identity;
	uint64_t n_windows; /* at least */
};

struct manifest {
	VEC(struct manifest_entry);
	char tenant[STORE_TENANT_MAX + 1];
	bool is_changed; /* since it was saved */
};

void manifest_fini(struct manifest *m);

/*
 * Reads a tenant's manifest into the zeroed @m; a missing one is empty. Returns 0, -errno, or
 * -EBADMSG if lines are damaged, which are left out: files without a line are added again.
 */
int manifest_load(struct manifest *m, const char *dir, const char *tenant, struct err *err);

/* Writes the manifest durably if it has changed. Returns 0 or -errno. */
int manifest_save(struct manifest *m, const char *dir, struct err *err);

/*
 * Records that the file @identity of @day has @n_windows, if it had fewer or no line. Returns 0,
 * -ENOMEM, or -EUCLEAN if the line has more.
 */
int manifest_record(struct manifest *m, int64_t day, const struct db_identity *identity,
		    uint64_t n_windows, struct err *err);

/*
 * Checks that no file of @day other than @identity is recorded (NULL: that none is). Returns 0, or
 * -EUCLEAN with the missing file in @err.
 */
int manifest_check(const struct manifest *m, int64_t day, const struct db_identity *identity,
		   struct err *err);

/*
 * Records that the file @identity of @day has @n_windows, also if it had more, because windows will
 * be deleted. Called before that, so that neither state of the file is a loss. Returns 0 or
 * -ENOMEM.
 */
int manifest_lower(struct manifest *m, int64_t day, const struct db_identity *identity,
		   uint64_t n_windows);

/* Forgets all files of a day. */
void manifest_remove(struct manifest *m, int64_t day);
