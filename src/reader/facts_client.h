/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * READER_FACTS and READER_SAME, in the parent. Both wait for the reader, for a second at most,
 * because the reader reads little, or at most 64 MiB of each file. Failures are charged to the
 * owner of the file, whose files are refused for a while after several of them. Any thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "reader/facts_message.h"

struct role_pool;

/* Reads the facts of @fd. Returns 0; -errno if the reader failed or @owner's files are refused. */
int facts_client_read(struct role_pool *pool, int fd, uid_t owner, struct file_facts *out);

/* Returns true if both files certainly have the same headers and symbols. */
bool facts_client_same(struct role_pool *pool, int fd_a, int fd_b, uid_t owner);
