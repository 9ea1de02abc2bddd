/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The input of frame symbols: tables of files and of generated code, and counts of a window. */
#include <stdint.h>

struct file_table;
struct frame_symbols;
struct jit_symbols;
struct sample_counts;
struct unwind_file;
struct unwind_rule;
struct unwind_tables;

struct fixture {
	struct unwind_tables *tables;
	struct role_pool *readers;
	struct file_table *files;
	struct jit_symbols *jits;
	struct frame_symbols *frame_symbols;
	struct sample_counts *collect;
	struct unwind_rule *rules;
	struct unwind_file *unwind_files;
	uint32_t generation;
};

void fixture_init(struct fixture *f);
void fixture_fini(struct fixture *f);
