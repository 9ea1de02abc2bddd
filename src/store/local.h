/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The store in a directory of this machine, which belongs to one process. */
#include "store/store.h"

/* 0; -EBUSY when another process has it; -errno. */
int local_open(struct store **out, const struct store_options *opt, struct err *err);
