/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

struct err;

/*
 * Makes what root has of the store in @dir the property of a user, so that a server without root's
 * rights can write it; creates @dir if it does not exist. Changed are only directories of tenants,
 * regular files of root in them that have no other name, and @dir, which is changed last, so that
 * an interrupted call can be repeated. Needs root and a store that no process has open.
 *
 * Returns 0; -EEXIST if @dir holds anything else, which is then left unchanged; -EBUSY if the store
 * is in use; -errno.
 */
int sqlite_owner_give(const char *dir, uid_t uid, gid_t gid, struct err *err);
