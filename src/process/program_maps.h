/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The mappings of programs: reading them from /proc, and publishing them to the map that the BPF
 * program walks with. Functions that read /proc apply all events afterwards, so they must not be
 * called while events are being applied.
 */
#include <stdbool.h>
#include <stdint.h>

struct file_ref;
struct program;
struct programs;
struct unwind_process;

/*
 * Adds the mapping of @ref at @file_off, which was made at @time_ns; that of the program's own file
 * also sets info.exe.
 */
void programs_map(struct programs *p, struct program *e, const struct file_ref *ref,
		  uint64_t file_off, uint64_t time_ns);

/*
 * Publishes a program's mappings, reading them from /proc first if they are stale, and stores them
 * in @out. Return: 0; -ESRCH if the program ended before it was read; -ENOSPC or -ENOMEM.
 */
int programs_publish_one(struct programs *p, struct program *e, uint64_t now_ns,
			 struct unwind_process *out);

/* See process_table_publish(), process_table_mappings() and process_table_ignore_unmapped(). */
void programs_publish(struct programs *p, uint64_t now_ns);
int programs_mappings(struct programs *p, struct program *e, uint64_t now_ns,
		      struct unwind_process *out);
bool programs_ignore_unmapped(struct programs *p, struct program *e, uint64_t now_ns);
