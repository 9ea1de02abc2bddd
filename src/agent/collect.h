/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Counting: how often each thread was seen with each stack in a window. A
 * stack is a sequence of frame words (bpf/shared/abi.h); nothing is named
 * here. A stack seen before costs one hash of its bytes. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct collect;

struct collect_thread {
	uint64_t start_ns; /* of its program: with the pid, which program it was */
	uint32_t pid, tid;
	char comm[16];         /* of the thread */
	char process_comm[16]; /* of its process */
	uint32_t exe;          /* file id of the process's program */
	uint32_t cpu_plus_1;   /* 0: CPUs are not told apart */
};
_Static_assert(sizeof(struct collect_thread) == 56, "compared by its bytes: no padding");

struct collect_sample {
	uint32_t stack;
	uint32_t thread;
	uint64_t count;
	uint64_t off_ns;      /* time off the CPU */
	uint64_t thinned_ns;  /* of which so much stands for other waits too */
	uint32_t last_time;   /* for collect_times() */
	uint8_t off_state;    /* enum off_state; 0: it ran */
	uint8_t event;        /* number of what was sampled */
	uint8_t place_plus_1; /* 0: none */
};

/* Without times: @keep_times false. 0 or -ENOMEM. */
int collect_new(struct collect **out, bool keep_times);
void collect_free(struct collect *c);

DEFINE_FREEP(struct collect, collect_free)

/*
 * Count a sample of @n_words leaf first. 0; COLLECT_NEW_THREAD when its thread
 * was not seen before in this window; -ENOMEM.
 */
enum { COLLECT_NEW_THREAD = 1 };
int collect_add(struct collect *c, const struct collect_thread *thread, uint64_t time_ns,
		const uint64_t *words, size_t n_words);

/* The same, of event number @event; above it is 0. */
int collect_add_of(struct collect *c, const struct collect_thread *thread, uint8_t event,
		   uint64_t time_ns, const uint64_t *words, size_t n_words);

struct collect_wait {
	uint64_t ns;
	uint64_t count;
	uint8_t state;        /* enum off_state */
	bool is_thinned;      /* it stands for others in its place: collect_scale() */
	uint8_t place_plus_1; /* where the thread waited, for that; 0: nowhere that is known */
};

/* Count waits: as collect_add(). */
int collect_add_off(struct collect *c, const struct collect_thread *thread,
		    const struct collect_wait *wait, const uint64_t *words, size_t n_words);

/* By what a thread's time in a place is to be multiplied: what is thinned, and then all. */
struct collect_scale {
	double thinned, all;
};
typedef struct collect_scale (*collect_scale_fn)(void *ctx, const struct collect_thread *thread,
						 uint8_t place);
void collect_scale(struct collect *c, collect_scale_fn fn, void *ctx);

/* Begin a new window: the counts go, and so do stacks and threads. */
void collect_clear(struct collect *c);

/* When the sample @s was seen, latest first, into @out (s->count of them): how many are known. */
size_t collect_times(const struct collect *c, const struct collect_sample *s, uint64_t *out);

size_t collect_bytes(const struct collect *c); /* memory held, for budgets */

/*
 * Of the @n words of a stack, how many are to be counted: when more than @max_bytes are held,
 * of a deep one the innermost COLLECT_CUT_FRAMES, and then why there are no more. 0 bytes: no
 * limit.
 */
enum { COLLECT_CUT_FRAMES = 31 };
size_t collect_cut(const struct collect *c, size_t max_bytes, uint64_t *words, size_t n);
/* A quarter more than @max_bytes is held: the rest of the samples is to be left out. */
bool collect_is_full(const struct collect *c, size_t max_bytes);

size_t collect_n_samples(const struct collect *c);
const struct collect_sample *collect_sample(const struct collect *c, size_t i);
size_t collect_n_stacks(const struct collect *c);
const uint64_t *collect_stack(const struct collect *c, uint32_t id, size_t *out_n);
const struct collect_thread *collect_thread(const struct collect *c, uint32_t id);
uint64_t collect_total(const struct collect *c); /* of samples; waits are not among them */
