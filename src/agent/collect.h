/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Counting: how often each thread was seen with each stack in a window. A
 * stack is a sequence of frame words (bpf/shared/abi.h); nothing is named
 * here. A stack seen before costs one hash of its bytes. One thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct collect;

struct collect_thread {
	uint32_t pid, tid;
	char comm[16];         /* of the thread */
	char process_comm[16]; /* of its process */
	uint32_t exe;          /* file id of the process's program */
};

struct collect_sample {
	uint32_t stack;
	uint32_t thread;
	uint64_t count;
};

int collect_new(struct collect **out);
void collect_free(struct collect *c);

DEFINE_FREEP(struct collect, collect_free)

/* Count a sample of @n_words leaf first. 0 or -ENOMEM. */
int collect_add(struct collect *c, const struct collect_thread *thread, const uint64_t *words,
		size_t n_words);

/* Begin a new window: the counts go, and so do stacks and threads. */
void collect_clear(struct collect *c);

size_t collect_n_samples(const struct collect *c);
const struct collect_sample *collect_sample(const struct collect *c, size_t i);
size_t collect_n_stacks(const struct collect *c);
const uint64_t *collect_stack(const struct collect *c, uint32_t id, size_t *out_n);
const struct collect_thread *collect_thread(const struct collect *c, uint32_t id);
uint64_t collect_total(const struct collect *c);
