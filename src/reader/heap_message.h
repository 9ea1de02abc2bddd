/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The messages of READER_HEAP: read the heap profile of a Go program (lang/heap/golang_heap.h).
 * Descriptor 0 is the memory of the process, 1 the file of its program. PARTs are pieces of one
 * stream, a profile in pprof's format. The reply is a struct golang_heap_counts.
 */
#include <stdint.h>

enum { HEAP_STREAM_MAX = 128 << 20 };

struct heap_request {
	uint64_t code_addr; /* of the lowest code of the program (proc/stat.h) */
	uint32_t limit_ms;  /* the reader ends with what it has after that time */
	uint32_t reserved;
};
