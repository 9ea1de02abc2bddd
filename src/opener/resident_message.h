/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Resident pages of a process as bytes, which the job OPENER_RESIDENT sends in parts: a record for
 * each mapping, with its path after it, and for each run of pages.
 */
#include <stddef.h>

#include "proc/resident_pages.h"

struct buf;

void resident_message_put_mapping(struct buf *out, const struct proc_resident_mapping *m);
void resident_message_put_pages(struct buf *out, const struct proc_pages *pages);

/* The bytes of the longest record. */
enum { RESIDENT_RECORD_MAX = 64 + PROC_PATH_MAX };

/*
 * Passes the records of a part (aligned to 8) to @sink. Path and addresses of a mapping are set,
 * and whether it has a file (inode 1). Return: 0; -EBADMSG if the bytes are not what the
 * functions above write, maybe after some calls; what a function of @sink returned.
 */
int resident_message_read(const void *data, size_t len, const struct proc_resident_sink *sink);
