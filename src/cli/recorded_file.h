/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The executable of a profile's mapping on this machine, accepted only if its build id is the
 * recorded one. Its contents are read in processes without privileges.
 */
#include <stdint.h>

#include "base/cleanup.h"
#include "symbol/symbolizer.h"

struct err;
struct profile;
struct recorded_file;

/**
 * recorded_file_open() - open the executable of a mapping
 *
 * @path replaces the mapping's file name; NULL: none. @p and @s are borrowed.
 *
 * Return: 0; -ESTALE if the file's build id is not the recorded one; -errno; all with the reason,
 * which names the file.
 */
int recorded_file_open(struct recorded_file **out, const struct profile *p, uint32_t mapping,
		       const char *path, struct symbolizer *s, struct err *err);
void recorded_file_free(struct recorded_file *f);

DEFINE_FREEP(struct recorded_file, recorded_file_free)

int recorded_file_fd(const struct recorded_file *f);           /* borrowed */
const char *recorded_file_path(const struct recorded_file *f); /* as opened */

/*
 * Translates an address of the mapping to one as linked. Returns 0; -ENOENT if no segment has it.
 */
int recorded_file_vaddr(const struct recorded_file *f, uint64_t address, uint64_t *out);

/* symbolizer_resolve() for @n addresses as linked. */
int recorded_file_resolve(struct recorded_file *f, const uint64_t *vaddrs, size_t n,
			  symbol_frames_fn fn, void *ctx);
