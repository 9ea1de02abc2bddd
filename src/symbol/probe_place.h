/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Finds the instruction that a uprobe is set at. Pure but for reading the file. */
#include <stdint.h>

/**
 * probe_place_find() - find a function in a program or library
 *
 * @name is a symbol, a demangled name without parameters, or an address (0x...). A symbol is looked
 * up literally first. Separate debug files are not searched.
 *
 * Return: 0 and the offset in the file of the instruction @offset bytes after the function's start;
 * -ENOEXEC: not an ELF file; -ENOENT: no such function; -EINVAL: invalid address; -ENOTSUP: an
 * indirect function; -ERANGE: outside of the file's code; -errno.
 */
int probe_place_find(int fd, const char *name, uint64_t offset, uint64_t *out);
