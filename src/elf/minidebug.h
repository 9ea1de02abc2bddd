/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The small symbol table that Fedora and others keep in stripped files: an ELF file with a .symtab,
 * xz-compressed in .gnu_debugdata.
 */
#include <stddef.h>

struct elf_image;
struct err;

enum {
	ELF_MINIDEBUG_MAX = 64 << 20,       /* bytes after decompression */
	ELF_MINIDEBUG_MEMORY_MAX = 80 << 20 /* memory of the decompressor (xz -9 needs 65 MiB) */
};

/**
 * elf_minidebug_load() - decompress .gnu_debugdata
 *
 * Here liblzma reads hostile bytes: call it only in the unprivileged symbolizer, where a crash does
 * not end the profiler.
 *
 * Return: 0 and bytes to be opened with elf_image_from_memory() and freed with free(); -ENOENT if
 * the file has none; -E2BIG over the limits; -EBADMSG; -ENOMEM.
 */
int elf_minidebug_load(const struct elf_image *img, void **out, size_t *out_len, struct err *err);
