/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/memory_records.h"

#include "bpf/shared/abi.h"
#include "profiler/allocs.h"
#include "profiler/resident.h"

bool memory_records_begin(const struct memory_records *m, const struct record_header *h,
			  bool is_resumed)
{
	switch (h->type) {
	case RECORD_PROGRAM:
		if (m->resident)
			resident_begin(m->resident, h);
		return true;
	case RECORD_FREED:
		if (m->allocs)
			allocs_end(m->allocs, h);
		return true;
	}
	if (m->resident && h->flags & RECORD_MAPPED && !is_resumed)
		resident_map(m->resident, h);
	return false;
}

bool memory_records_stack(const struct memory_records *m, const struct record_header *h,
			  const struct sample_counts_thread *thread,
			  const struct sample_labels *labels, const uint64_t *words, size_t n)
{
	if (h->flags & RECORD_ALLOC && m->allocs)
		allocs_add(m->allocs, h, thread, labels, words, n);
	if (h->flags & (RECORD_FAULT | RECORD_MAPPED) && m->resident)
		resident_touch(m->resident, h, thread, labels, words, n);
	return h->flags & (RECORD_ALLOC | RECORD_FAULT | RECORD_MAPPED);
}
