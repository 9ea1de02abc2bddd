/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The executable mappings of one address space, and the copy of them that the BPF program
 * reads. A fork shares its parent's set (by reference) until either process changes its
 * mappings. process_table.c owns the sets; one thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/abi.h"

struct mapping_set;
struct unwind_tables;

/*
 * The memory of all sets together. A user may have thousands of processes with 65,530 mappings
 * each, so a set may only become as large as half of what is free, which leaves room for others
 * however many sets grow; up to MAPPING_SET_SMALL mappings it always may. All zeros: no limit.
 */
struct mapping_budget {
	size_t max_bytes, used_bytes;
	uint64_t n_refused; /* mappings that found no room */
};

enum { MAPPING_SET_SMALL = 256 };

/*
 * Returns a set with one reference, or NULL if memory ran out. @budget is borrowed until the set is
 * freed; NULL: no limit.
 */
struct mapping_set *mapping_set_new(struct mapping_budget *budget);
struct mapping_set *mapping_set_ref(struct mapping_set *m);
/*
 * Drops a reference. The last one frees the set and retires its published copy. @m may be
 * NULL.
 */
void mapping_set_unref(struct mapping_set *m, struct unwind_tables *tables, uint64_t now_ns);

/*
 * Returns a set with the same mappings that is not shared: @m itself if it has a single
 * reference, else a copy, with the reference to @m dropped. NULL if memory or the budget ran out.
 */
struct mapping_set *mapping_set_own(struct mapping_set *m, struct unwind_tables *tables,
				    uint64_t now_ns);

/**
 * mapping_set_add() - add a mapping
 *
 * It replaces whatever it overlaps, as mmap() does, and is merged with an adjacent one of the
 * same kind and content. Exception: an anonymous mapping does not replace regions of
 * generated code that a language runtime reported, since runtimes commit such memory bit by
 * bit.
 *
 * Return: 0; -ENOSPC if the budget has no room; -ENOMEM.
 */
int mapping_set_add(struct mapping_set *m, const struct unwind_mapping *map);

uint32_t mapping_set_count(const struct mapping_set *m);
/* Mapping number @i in order of address; valid until the set changes. */
const struct unwind_mapping *mapping_set_get(const struct mapping_set *m, uint32_t i);

/*
 * Brings the published copy up to date and returns its place in *@out. Returns 0, or -ENOSPC
 * or -ENOMEM; then the previous copy stays.
 */
int mapping_set_publish(struct mapping_set *m, struct unwind_tables *tables, uint64_t now_ns,
			struct unwind_process *out);
