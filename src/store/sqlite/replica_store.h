/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A store that answers queries from a replica of another one: a backup, a snapshot, or a directory
 * that is copied to this machine again and again (replica_days.h). It works without permission to
 * write and on file systems that are read-only. store_append() fails with -ENOSYS; retention and
 * rollups do nothing.
 */
#include "store/store.h"

/*
 * Returns 0; -EBUSY if a server writes to the directory; -EUCLEAN during a restore; -EINVAL if it
 * is not a store; -errno. The caller closes *@out with store_close().
 */
int replica_store_open(struct store **out, const struct store_options *opt, struct err *err);
