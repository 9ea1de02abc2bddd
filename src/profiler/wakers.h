/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The threads that end a wait. The first of a chain woke the thread that waited; the second ended
 * the last wait of the first, if that ended since the wait began, and so on. A chain is part of the
 * stack of the wait: the frames of each waker, leaf first, end with a divider word, and the frames
 * of the waiting thread follow the last divider. By the names of functions, symbolize/wait_frames.h
 * decides whether the waker is the thread or an interrupt on its stack. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "bpf/shared/offcpu.h"
#include "profiler/sample_counts.h"

enum {
	WAKERS_MAX = 8,         /* of a chain */
	WAKER_WORDS_MAX = 4096, /* of the stacks of a chain */
};

/* The divider: the number of the waker in the counts, and whether it is a thread of the kernel. */
#define WAKER_WORD(thread, is_kernel)                                                              \
	FRAME_WORD(FRAME_WAKER, (__u64)(thread) | (__u64)(is_kernel) << 32)
#define WAKER_THREAD(word)    ((uint32_t)(word))
#define WAKER_IS_KERNEL(word) ((bool)((word) >> 32 & 1))

/* How a chain ends. */
enum waker_end {
	WAKER_END_RAN,     /* the last waker had not waited in between */
	WAKER_END_UNKNOWN, /* it had, but the waker of that wait was not recorded */
	WAKER_END_LIMIT,   /* the chain is longer than the limits */
	WAKER_END_WAITS,   /* there is no waker yet */
};

struct waker {
	struct sample_counts_thread thread;
	bool is_kernel;
	uint32_t n_words;
};

/* Zeros with an end are an empty chain. */
struct waker_chain {
	struct {
		VEC(struct waker);
	} links;
	struct {
		VEC(uint64_t);
	} words; /* of all links, in their order */
	enum waker_end end;
};

/* The wakers of one thread's present wait, and of the one that ended last. Zeros are none. */
struct thread_wakers {
	uint64_t out_ns, last_out_ns; /* starts of the two waits */
	struct waker_chain now, last;
};

/* A thread that ends a wait. */
struct waking {
	uint32_t tid;    /* of the thread that waited */
	uint64_t out_ns; /* start of its wait */
	struct waker by;
	bool has_waited;       /* since then */
	uint32_t last_out_ns;  /* low bits of the start of its last wait; 0: without a stack */
	const uint64_t *words; /* the waker's stack, leaf first */
};

/* Describes the record @h (RECORD_WAKER) of @thread with a stack of @n words. */
struct waking waking_of(const struct record_header *h, const struct sample_counts_thread *thread,
			const uint64_t *words, size_t n);

void thread_wakers_fini(struct thread_wakers *w);

/*
 * Notes who ends the present wait of a thread. @by: what is known of the waker's own waits; may be
 * NULL. Returns 0 or -ENOMEM.
 */
int thread_wakers_add(struct thread_wakers *w, const struct waking *k,
		      const struct thread_wakers *by);

/* The chain of the wait that began at @out_ns; NULL if no waker is known. */
const struct waker_chain *thread_wakers_get(const struct thread_wakers *w, uint64_t out_ns);

/* The wait that began at @out_ns has ended. */
void thread_wakers_end(struct thread_wakers *w, uint64_t out_ns);

/* Memory held, in bytes. */
size_t thread_wakers_bytes(const struct thread_wakers *w);

struct waker_words {
	VEC(uint64_t);
};

/*
 * Appends the frames of @chain to @out, with dividers that refer to @counts. Returns 0 or -ENOMEM.
 */
int waker_chain_put(const struct waker_chain *chain, struct sample_counts *counts,
		    struct waker_words *out);

/* Number of words, from the leaf, that are of wakers; the waiting thread's own follow. */
size_t wakers_n_words(const uint64_t *words, size_t n);
