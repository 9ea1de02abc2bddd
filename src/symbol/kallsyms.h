/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Names of kernel code, from /proc/kallsyms: the kernel, its modules, BPF programs. */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct err;
struct kallsyms;

struct kallsyms_symbol {
	uint64_t address;
	const char *name;
	const char *module; /* "[nf_tables]", "[bpf]"; "" for the kernel itself */
};

/**
 * kallsyms_load() - read and sort the kernel's code symbols
 *
 * Return: 0; -EPERM when the kernel hides the addresses, with the remedy;
 * -errno.
 */
int kallsyms_load(struct kallsyms **out, struct err *err);
/* The same from another file of that format, for tests. */
int kallsyms_load_file(struct kallsyms **out, const char *path, struct err *err);
void kallsyms_free(struct kallsyms *k);

DEFINE_FREEP(struct kallsyms, kallsyms_free)

/* The symbol that begins at or below @address: 0 or -ENOENT. Borrowed strings. */
int kallsyms_find(const struct kallsyms *k, uint64_t address, struct kallsyms_symbol *out);

size_t kallsyms_count(const struct kallsyms *k);
