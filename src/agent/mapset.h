/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The executable mappings of one address space, and their copy in the memory
 * that the walk reads. A fork shares its parent's set until either changes.
 * One thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "bpf/shared/abi.h"

struct mapset;
struct unwind_tables;

struct mapset *mapset_new(void); /* with one reference; NULL: no memory */
struct mapset *mapset_ref(struct mapset *m);
/* Drop a reference; the last one gives the published copy back. NULL is allowed. */
void mapset_unref(struct mapset *m, struct unwind_tables *tables, uint64_t now_ns);

/* A set of the caller's own with the same mappings: @m itself if nobody shares it, else a copy. */
struct mapset *mapset_own(struct mapset *m, struct unwind_tables *tables, uint64_t now_ns);

void mapset_clear(struct mapset *m);

/**
 * mapset_add() - a mapping has appeared
 *
 * What it covers of older ones is gone; generated code that adjoins is joined. An
 * anonymous mapping does not cover what a virtual machine told of.
 * Return: 0 or -ENOMEM.
 */
int mapset_add(struct mapset *m, const struct unwind_mapping *map);

uint32_t mapset_count(const struct mapset *m);
const struct unwind_mapping *mapset_get(const struct mapset *m, uint32_t i);

/* Bring the published copy up to date: 0 and *@out; -ENOSPC, -ENOMEM (the old copy stays). */
int mapset_publish(struct mapset *m, struct unwind_tables *tables, uint64_t now_ns,
		   struct unwind_process *out);
