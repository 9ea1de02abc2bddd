/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Symbols of kernel code from /proc/kallsyms: the kernel, its modules and BPF
 * programs. A loaded table is immutable, so threads may share it.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct err;
struct kallsyms;

struct kallsyms_symbol {
	uint64_t address; /* with the padding before the function (__pfx_NAME) */
	uint64_t size;    /* up to the next symbol or the end of its module */
	const char *name;
	const char *module; /* "[nf_tables]", "[bpf]"; "" for the kernel itself */
};

/**
 * kallsyms_load() - read and sort the kernel's code symbols
 *
 * base/alias.h selects one of several symbols at one address. Modules and BPF
 * programs that the kernel loads later are missing: load a new table for them.
 *
 * Return: 0; -EPERM if the kernel hides the addresses (@err contains the
 * remedy); -E2BIG over KALLSYMS_MAX symbols; -EBADMSG, -ENOMEM, -errno.
 */
int kallsyms_load(struct kallsyms **out, struct err *err);

/* Reads files in the formats of /proc/kallsyms and /proc/modules; @modules_fd may be -1. */
int kallsyms_load_fds(struct kallsyms **out, int kallsyms_fd, int modules_fd, struct err *err);
void kallsyms_free(struct kallsyms *k);

DEFINE_FREEP(struct kallsyms, kallsyms_free)

enum { KALLSYMS_MAX = 4 * 1000 * 1000 };

/* Finds the symbol that covers @address. Strings are borrowed from @k. Returns 0 or -ENOENT. */
int kallsyms_find(const struct kallsyms *k, uint64_t address, struct kallsyms_symbol *out);

size_t kallsyms_count(const struct kallsyms *k);
