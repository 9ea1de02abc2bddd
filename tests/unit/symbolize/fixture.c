/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <stdlib.h>

#include "bpf/shared/abi.h"
#include "process/file_table.h"
#include "process/jit_symbols.h"
#include "profiler/sample_counts.h"
#include "symbolize/frame_symbols.h"
#include "tests/test.h"
#include "tests/unit/process/readers.h"
#include "unwind/tables.h"

static int no_chunk(void *ctx, uint32_t n, uint32_t **out)
{
	return -1;
}

void fixture_init(struct fixture *f)
{
	struct unwind_tables_memory mem = { .add_chunk = no_chunk };
	struct frame_symbols_opts lo = { .symbolizer.no_dwarf = true };

	*f = (struct fixture){ 0 };
	f->rules = calloc(UNWIND_RULES_MAX, sizeof(*f->rules));
	f->unwind_files = calloc(UNWIND_FILES_MAX, sizeof(*f->unwind_files));
	mem.rules = f->rules;
	mem.files = f->unwind_files;
	mem.generation = &f->generation;
	assert_int_equal(unwind_tables_new(&f->tables, &mem), 0);
	file_table_with_readers(&f->files, &f->readers, f->tables);
	assert_int_equal(jit_symbols_new(&f->jits, NULL), 0);
	lo.files = f->files;
	lo.jits = f->jits;
	assert_int_equal(frame_symbols_new(&f->frame_symbols, &lo), 0);
	assert_int_equal(sample_counts_new(&f->collect, true), 0);
}

void fixture_fini(struct fixture *f)
{
	sample_counts_free(f->collect);
	frame_symbols_free(f->frame_symbols);
	jit_symbols_free(f->jits);
	file_table_free(f->files);
	role_pool_free(f->readers);
	unwind_tables_free(f->tables);
	free(f->rules);
	free(f->unwind_files);
}
