/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Matches records with programs by identity, and finds programs whose start or exit was not in the
 * side-band. Both correct the table after an event was lost.
 */
#include <stdbool.h>
#include <stdint.h>

struct program;
struct program_id;
struct programs;

/* See process_table_identify() and process_table_sweep(). */
struct program *programs_identify(struct programs *p, uint32_t pid, uint64_t time_ns,
				  const struct program_id *id, bool is_sure);
void programs_sweep(struct programs *p);
