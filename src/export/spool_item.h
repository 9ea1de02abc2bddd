/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The file format of an item: a header with a checksum over header and body, and the body. Files of
 * another version have another magic number and count as damaged. tries is not stored.
 */
#include <stddef.h>

struct buf;
struct export_item;

enum { SPOOL_ITEM_MAX = 64 << 20 };

/* Appends the file's content to @out, where a failed allocation sticks. */
void spool_item_write(const struct export_item *i, struct buf *out);

/* Returns 0 and a new item; -EBADMSG if the data is damaged or of another kind; -ENOMEM. */
int spool_item_read(struct export_item **out, const void *data, size_t len);
