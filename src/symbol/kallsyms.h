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
	uint64_t size; /* up to what follows it */
	const char *name;
	const char *module; /* "[nf_tables]", "[bpf]"; "" for the kernel itself */
};

/**
 * kallsyms_load() - read and sort the kernel's code symbols
 *
 * Of names of one address the choice is that of base/alias.h. What is loaded
 * later (modules, BPF programs) is not in it: load again.
 *
 * Return: 0; -EPERM when the kernel hides the addresses, with the remedy;
 * -EBADMSG, -E2BIG over KALLSYMS_MAX symbols, -ENOMEM, -errno.
 */
int kallsyms_load(struct kallsyms **out, struct err *err);

/* From files in the format of /proc/kallsyms and /proc/modules; @modules_fd may be -1. */
int kallsyms_load_fds(struct kallsyms **out, int kallsyms_fd, int modules_fd, struct err *err);
void kallsyms_free(struct kallsyms *k);

DEFINE_FREEP(struct kallsyms, kallsyms_free)

enum { KALLSYMS_MAX = 4 * 1000 * 1000 };

/* The symbol that covers @address: 0 or -ENOENT. Strings are borrowed. */
int kallsyms_find(const struct kallsyms *k, uint64_t address, struct kallsyms_symbol *out);

size_t kallsyms_count(const struct kallsyms *k);
size_t kallsyms_bytes(const struct kallsyms *k); /* memory held, for budgets */
