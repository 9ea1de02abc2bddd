/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heap profile of an artificial Go process (tests/unit/lang/golang_memory.c) with arbitrary
 * words replaced: variables, the list, counts and stack traces. Reading terminates and stays within
 * its memory and limits, and the profile is valid.
 *
 * An input is {offset, word} pairs to replace.
 */
#include <assert.h>

#include "codec/pprof/pprof.h"
#include "golang_memory.h"
#include "lang/heap/golang_heap.h"
#include "lang/heap/golang_heap_layout.h"
#include "profile/profile.h"
#include "task_process.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { RECORDS = 12, RECORDS_AT = GOLANG_MEMORY_AT + 0x100, RECORD_BYTES = 0x100 };

static const struct golang_heap_layout layout = {
	.version = "1.26.1",
	.buckets = GOLANG_MEMORY_AT,
	.cycle = GOLANG_MEMORY_AT + 8,
	.rate = GOLANG_MEMORY_AT + 16,
	.cycle_shift = 1,
	.hides_internal = true,
};

static struct golang_memory g;

static void make_process(void)
{
	golang_memory_init(&g);
	golang_memory_put(&g, layout.buckets, RECORDS_AT);
	golang_memory_put(&g, layout.cycle, 9);
	golang_memory_put(&g, layout.rate, 512 << 10);
	for (uint32_t i = 0; i < RECORDS; i++) {
		uint64_t at = RECORDS_AT + i * RECORD_BYTES;
		uint32_t n = 1 + i % 4;

		golang_memory_put(&g, at + 8, i + 1 < RECORDS ? at + RECORD_BYTES : 0);
		golang_memory_put(&g, at + 16, 1);
		golang_memory_put(&g, at + 40, n);
		for (uint32_t k = 0; k < n; k++)
			golang_memory_put(&g, at + 48 + k * 8,
					  golang_memory_pc((i + k) % GOLANG_FUNCTIONS));
		for (uint32_t k = 0; k < 16; k++)
			golang_memory_put(&g, at + 48 + n * 8 + k * 8,
					  k % 4 < 2 ? 3 - k % 2 : 4096);
	}
	g.n_reads_max = READS_MAX;
}

/* The profile can be written, and the reader of uploads accepts it. */
static void check_profile(const struct profile *p)
{
	struct profile *copy = NULL;
	struct buf b = { 0 };
	int r = pprof_write(p, &b, NULL);

	assert(r == 0);
	r = pprof_read(&copy, b.data, b.len, NULL, NULL);
	assert(r == 0 && profile_n_samples(copy) == profile_n_samples(p));
	profile_free(copy);
	buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const struct golang_heap_program program = { .table = &g.table, .layout = &layout };
	struct golang_heap_counts counts;
	struct profile *p = NULL;
	int r = profile_new(&p);

	assert(r == 0);
	make_process();
	patch(g.bytes, GOLANG_MEMORY_BYTES, data, len);
	r = golang_heap_read(&program, &g.memory, p, &counts);
	assert(counts.n_records <= GOLANG_HEAP_RECORDS_MAX);
	assert(counts.n_changed <= counts.n_records);
	if (r == 0)
		check_profile(p);
	profile_free(p);
	return 0;
}
