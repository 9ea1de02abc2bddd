/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Counts how often each thread was seen with each stack in a window. A stack is a sequence of
 * frame words (bpf/shared/abi.h); nothing is symbolized here. A stack that was seen before
 * costs one hash of its words. One thread at a time; the whole object moves from the sampling
 * thread to the symbolizer thread at the end of a window.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct sample_counts;

struct sample_counts_thread {
	uint64_t start_ns; /* start of the program; with the pid, it identifies the program */
	uint32_t pid, tid;
	char comm[16];         /* name of the thread */
	char process_comm[16]; /* name of the process */
	uint32_t exe;          /* file id of the program */
	uint32_t cpu_plus_1;   /* 0: samples are not separated by CPU */
};
_Static_assert(sizeof(struct sample_counts_thread) == 56, "compared by its bytes: no padding");

/*
 * The labels of a sample beyond its thread: a text as of lang/context/labels.h, copied. NULL or an
 * empty text stands for none.
 */
struct sample_labels {
	const char *text;
	size_t len;
};

/*
 * Distinct sets of labels in one window, and bytes of their texts together. A sample beyond is
 * counted without labels, and in sample_counts_n_unlabelled().
 */
enum { SAMPLE_LABELS_MAX = 1 << 16, SAMPLE_LABELS_BYTES = 8 << 20 };

/*
 * Flag of a stack's first user frame: a caller further up was found by search rather than by rule.
 * Words of kernel frames have all upper bits set anyway.
 */
#define SAMPLE_COUNTS_SEARCHED (1ULL << 58)

struct sample_counts_sample {
	uint32_t stack;
	uint32_t thread;
	uint64_t count; /* samples or waits; pages of memory; heap allocations */
	uint64_t bytes; /* of memory */
	union {
		struct {
			uint64_t off_ns;     /* time off the CPU */
			uint64_t thinned_ns; /* part of off_ns that stands for other waits too */
		};
		struct { /* of heap allocations: those in use */
			uint64_t live_count, live_bytes;
		};
	};
	uint32_t labels;      /* for sample_counts_labels(); 0: none */
	uint32_t last_time;   /* internal, for sample_counts_times() */
	uint8_t off_state;    /* enum off_state; 0: on the CPU */
	uint8_t event;        /* index of the sampled event */
	uint8_t place_plus_1; /* wait place; 0: none */
	uint8_t memory;       /* enum resident_kind; 0: not memory */
};

/* @keep_times: remember the time of each sample. Returns 0 or -ENOMEM. */
int sample_counts_new(struct sample_counts **out, bool keep_times);
void sample_counts_free(struct sample_counts *c);

DEFINE_FREEP(struct sample_counts, sample_counts_free)

/*
 * Counts a sample with a stack of @n_words, leaf first, of event 0. Returns 0;
 * SAMPLE_COUNTS_NEW_THREAD for the first sample of @thread in this window; or -ENOMEM.
 */
enum { SAMPLE_COUNTS_NEW_THREAD = 1 };
int sample_counts_add(struct sample_counts *c, const struct sample_counts_thread *thread,
		      uint64_t time_ns, const uint64_t *words, size_t n_words);

/* Like sample_counts_add(), with @labels (may be NULL), for event number @event. */
int sample_counts_add_event(struct sample_counts *c, const struct sample_counts_thread *thread,
			    const struct sample_labels *labels, uint8_t event, uint64_t time_ns,
			    const uint64_t *words, size_t n_words);

struct sample_counts_wait {
	uint64_t ns;
	uint64_t count;
	uint8_t state;        /* enum off_state */
	bool is_thinned;      /* stands for other waits too: see sample_counts_scale() */
	uint8_t place_plus_1; /* wait place; 0: unknown */
	struct sample_labels labels;
};

/* Counts waits. Returns what sample_counts_add() returns. */
int sample_counts_add_wait(struct sample_counts *c, const struct sample_counts_thread *thread,
			   const struct sample_counts_wait *wait, const uint64_t *words,
			   size_t n_words);

/*
 * Counts resident memory of @kind (enum resident_kind), which the stack touched first. Returns what
 * sample_counts_add() returns.
 */
int sample_counts_add_memory(struct sample_counts *c, const struct sample_counts_thread *thread,
			     const struct sample_labels *labels, uint8_t kind, uint64_t bytes,
			     const uint64_t *words, size_t n_words);

/* Estimated sums of heap allocations: all of them, and those still in use. */
struct sample_counts_heap {
	uint64_t objects, bytes, live_objects, live_bytes;
	struct sample_labels labels;
};

/* Counts heap allocations. Returns what sample_counts_add() returns. */
int sample_counts_add_heap(struct sample_counts *c, const struct sample_counts_thread *thread,
			   const struct sample_counts_heap *heap, const uint64_t *words,
			   size_t n_words);

/*
 * Finds or adds the sample of @thread and a stack without counting it. Stores its number, for
 * sample_counts_sample(), in *@out. Returns 0 or -ENOMEM.
 */
int sample_counts_intern(struct sample_counts *c, const struct sample_counts_thread *thread,
			 const struct sample_labels *labels, const uint64_t *words, size_t n_words,
			 uint32_t *out);

/*
 * Finds or adds a thread without counting a sample of it. Stores its number, for
 * sample_counts_thread(), in *@out. Returns 0 or -ENOMEM.
 */
int sample_counts_intern_thread(struct sample_counts *c, const struct sample_counts_thread *thread,
				uint32_t *out);

/*
 * Factors for a thread's off-CPU time in one place: first for the thinned part, then for the
 * sum.
 */
struct sample_counts_scale {
	double thinned, all;
};
typedef struct sample_counts_scale (*sample_counts_scale_fn)(
	void *ctx, const struct sample_counts_thread *thread, uint8_t place);
/* Applies the factors that @fn returns to all waits with a place, once per window. */
void sample_counts_scale(struct sample_counts *c, sample_counts_scale_fn fn, void *ctx);

/* Starts a new window: drops all counts, stacks and threads. */
void sample_counts_clear(struct sample_counts *c);

/*
 * Stores the times of the samples counted in @s in @out (room for s->count), latest first.
 * Returns their number, which is less than s->count if memory ran out.
 */
size_t sample_counts_times(const struct sample_counts *c, const struct sample_counts_sample *s,
			   uint64_t *out);

/* Memory held, in bytes. */
size_t sample_counts_bytes(const struct sample_counts *c);

/*
 * Truncates a stack of @n words if more than @max_bytes are held (0: no limit): the innermost
 * SAMPLE_COUNTS_TRUNCATED_FRAMES stay, followed by an error word with the reason. Returns the
 * new number of words.
 */
enum { SAMPLE_COUNTS_TRUNCATED_FRAMES = 31 };
size_t sample_counts_truncate(const struct sample_counts *c, size_t max_bytes, uint64_t *words,
			      size_t n);
/*
 * Returns true if a quarter more than @max_bytes is held: further samples should be dropped.
 * 0: no limit.
 */
bool sample_counts_is_full(const struct sample_counts *c, size_t max_bytes);

size_t sample_counts_n_samples(const struct sample_counts *c);
const struct sample_counts_sample *sample_counts_sample(const struct sample_counts *c, size_t i);
size_t sample_counts_n_stacks(const struct sample_counts *c);
/* Words of stack @id, leaf first; valid until the next addition. */
const uint64_t *sample_counts_stack(const struct sample_counts *c, uint32_t id, size_t *out_n);
const struct sample_counts_thread *sample_counts_thread(const struct sample_counts *c, uint32_t id);
/* The labels of a sample; valid until the next addition. */
struct sample_labels sample_counts_labels(const struct sample_counts *c,
					  const struct sample_counts_sample *s);
size_t sample_counts_n_labels(const struct sample_counts *c); /* distinct sets */
uint64_t sample_counts_n_unlabelled(const struct sample_counts *c);
/* Returns the number of samples, without waits. */
uint64_t sample_counts_total(const struct sample_counts *c);
