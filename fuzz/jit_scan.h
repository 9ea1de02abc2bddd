/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The common part of the targets for the two formats that runtimes write. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/jit_input.h"
#include "symbol/jit_places.h"

/* Stores @data in a file of which a scan sees the first half, and adds the addresses to find. */
static inline void jit_scan_begin(struct jit_input *in, struct jit_places *places,
				  const uint8_t *data, size_t len)
{
	uint64_t addrs[160];

	*in = (struct jit_input){ .fd = memfd_create("fuzz", MFD_CLOEXEC), .end = len / 2 };
	for (uint64_t i = 0; i < 160; i++)
		addrs[i] = i * 0x101;
	if (in->fd < 0 || write(in->fd, data, len) != (ssize_t)len ||
	    jit_places_add(places, addrs, 160) < 0)
		abort();
}

/* Aborts if a result is outside of the function or of the file, and frees both. */
static inline void jit_scan_end(struct jit_input *in, struct jit_places *places, size_t len)
{
	for (size_t i = 0; i < places->len; i++) {
		const struct jit_place *p = &places->data[i];

		if ((p->size && p->addr - p->start >= p->size) || p->name.off + p->name.len > len ||
		    p->file.off + p->file.len > len)
			abort();
	}
	vec_fini(places);
	close(in->fd);
}
