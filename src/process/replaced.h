/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The files of a program whose mappings were replaced by others at the same addresses, as when a
 * library is loaded where another one was before. Until the change is published, the BPF program
 * walks with the old mapping, so frames in that file may be of other code. One thread.
 */
#include <stdbool.h>
#include <stdint.h>

struct mapping_set;
struct replaced; /* NULL: nothing was replaced */
struct unwind_mapping;

/* Notes the mappings of @m that @by replaces at @time_ns, unless memory runs out. */
void replaced_note(struct replaced **r, const struct mapping_set *m,
		   const struct unwind_mapping *by, uint64_t time_ns);

/* The mappings were published, or withdrawn, before @time_ns. */
void replaced_publish(struct replaced *r, uint64_t time_ns);

/* Returns true if a frame in @file of a stack that was walked at @time_ns may be of other code. */
bool replaced_has(const struct replaced *r, uint32_t file, uint64_t time_ns);
