/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The days of a directory, from its files and its manifests: a day of which only the manifest knows
 * was lost. Nothing is opened but the manifests. Any thread.
 */
#include "store/sqlite/day_files.h"

struct err;
struct manifest;

/*
 * Appends the days of @tenant, or of all tenants if it is NULL, oldest first. Returns 0 or -errno
 * with the reason.
 */
int day_list(const char *dir, const char *tenant, struct day_files *out, struct err *err);

/*
 * Adds the days of a manifest that are not among the files of its tenant, in which they are marked
 * as lost. Returns 0 or -ENOMEM.
 */
int day_list_add_lost(const struct manifest *m, struct day_files *out);

/*
 * Appends the names of all tenants, as days without a number. Returns 0; -ENOENT if there is no
 * directory; -EINVAL if the directory has files, but none of a store; -errno.
 */
int day_list_tenants(const char *dir, struct day_files *out, struct err *err);
