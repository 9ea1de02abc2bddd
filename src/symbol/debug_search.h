/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Decides, in the symbolizer, which of the files that its parent opens (debugfile.h) has the debug
 * information of another one. A name or a path proves nothing: the build id or the CRC must match.
 */
#include <stddef.h>
#include <stdint.h>

#include "symbol/protocol.h"

struct symbol_file;

/*
 * Requests a file from the parent. Returns a descriptor owned by the caller; -ENOENT if there is
 * none; -ERANGE if neither this attempt nor a later one has a file; -errno.
 */
typedef int (*debug_need_fn)(void *ctx, const struct protocol_need *need);

/* Returns a descriptor of the separate debug file of @own, owned by the caller, or -ENOENT. */
int debug_search(const struct symbol_file *own, debug_need_fn need, void *ctx);

/*
 * Returns the same for dwz's alternate file with @name and the build id @id, which may be absent.
 */
int debug_search_alt(const char *name, const uint8_t *id, size_t id_len, debug_need_fn need,
		     void *ctx);
