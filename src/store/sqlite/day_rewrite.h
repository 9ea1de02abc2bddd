/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writes a day's file again, in the current format: to convert one of an older format, to free
 * unused space, and without the windows that should be deleted. The new file is built and verified
 * under another name first, and replaces the old one in one step, so a loss of power leaves either.
 *
 * The caller holds the directory's lock, and the file is not open in this process. The dictionary
 * and the numbers of windows stay. The new file has the identity of
 * the old one, or, if that has none, a new one.
 */
#include <stdint.h>

#include "store/sqlite/db.h"

struct store_deletion;

struct day_rewrite {
	uint64_t n_windows, n_deleted; /* windows in the new file; windows not copied */
	struct db_identity identity;
};

/*
 * Called before the new file replaces the old one; a negative value stops that and is returned.
 */
typedef int (*day_rewrite_fn)(void *ctx, const struct day_rewrite *done, struct err *err);

/*
 * Rewrites the file of the day with this number. @del (NULL: none) selects the windows to delete;
 * if there are none, the file stays and @before is not called. Returns 0; -EBADMSG if the file is
 * damaged, and then it is unchanged; -EBUSY if another process reads it; -ENOSPC; -errno.
 */
int day_rewrite(const char *path, int64_t number, const struct store_deletion *del,
		day_rewrite_fn before, void *ctx, struct day_rewrite *out, struct err *err);

/* Removes what an interrupted rewrite of this file left. */
void day_rewrite_clean(const char *path);
