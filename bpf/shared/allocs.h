/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * The contract about heap allocations between the BPF programs at functions of allocators
 * (bpf/lib/allocs.h) and the agent: the cookie of a probe, and the constants of byte sampling.
 */
#ifndef CAMEO_BPF
#include <linux/types.h>
#endif

/* How a function of an allocator is called: which arguments have the size. */
enum alloc_kind {
	ALLOC_NONE,
	ALLOC_SIZE_0,   /* malloc(size), operator new(size) */
	ALLOC_SIZE_1,   /* aligned_alloc(alignment, size) */
	ALLOC_PRODUCT,  /* calloc(n, size) */
	ALLOC_TO_PLACE, /* posix_memalign(&block, alignment, size) */
	ALLOC_RESIZE,   /* realloc(block, size) */
	ALLOC_FREE,     /* free(block) */
	ALLOC_KIND_MAX,
};

enum {
	ALLOC_FILES_MAX = 32,  /* files with functions of allocators, in one recording */
	ALLOC_RANGES_MAX = 32, /* functions of one file that allocate */
	ALLOC_GAPS = 256,      /* cells of the table of gaps; a power of two */
};

/*
 * A probe's cookie: its kind, the number of its file, and its offset in the file, by which the file
 * offset of its caller is known without the load bias.
 */
#define ALLOC_COOKIE(kind, file, offset)                                                           \
	((__u64)(kind) | (__u64)(file) << 8 | (__u64)(offset) << 16)
#define ALLOC_COOKIE_KIND(cookie)   ((cookie)&0x7f)
#define ALLOC_COOKIE_STEPPED        0x80 /* the kernel single-steps the probed instruction */
#define ALLOC_COOKIE_FILE(cookie)   ((cookie) >> 8 & 0xff)
#define ALLOC_COOKIE_OFFSET(cookie) ((cookie) >> 16)

/* The functions of one file that are probed: a call by one of them is part of its own. */
struct alloc_file {
	struct {
		__u64 lo, hi;       /* offsets in the file */
	} ranges[ALLOC_RANGES_MAX]; /* those that are not used are empty */
};

/* Identifies a sampled allocation: the time and the thread of its record. */
struct alloc_id {
	__u64 time_ns; /* 0: none */
	__u32 tid;
	__u32 reserved;
};
