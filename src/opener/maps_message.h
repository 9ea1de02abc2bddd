/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The mappings of a process as bytes, which the job OPENER_MAPS sends: a record for each, with its
 * path after it. A path that equals that of the mapping before is not repeated.
 */
#include <stddef.h>

#include "proc/maps.h"

struct buf;

/* At most this many bytes: 160,000 mappings of one file. */
enum { MAPS_BYTES_MAX = 8 << 20 };

struct maps_writer {
	struct buf *out;
	size_t bytes_max;         /* of @out; further mappings are not sent */
	char last[PROC_PATH_MAX]; /* path of the mapping before */
};

/* Appends a mapping. Return: 0; 1 if there is no room; -ENOMEM. */
int maps_message_put(struct maps_writer *w, const struct proc_map *m);

/*
 * Calls @fn for each mapping in @data (aligned to 8), like proc_maps_read(). Return: 0 or @fn's
 * result; -EBADMSG if the bytes are not what maps_message_put() writes, maybe after some calls.
 */
int maps_message_read(const void *data, size_t len, proc_maps_fn fn, void *ctx);
