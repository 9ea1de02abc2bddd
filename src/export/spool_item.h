/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* An item as the content of a file: a header, the body, and a sum over both. */
#include <stddef.h>

struct buf;
struct export_item;

enum { SPOOL_ITEM_MAX = 64 << 20 };

void spool_item_write(const struct export_item *i, struct buf *out);

/* 0 and a new item; -EBADMSG when it is damaged or none; -ENOMEM. */
int spool_item_read(struct export_item **out, const void *data, size_t len);
