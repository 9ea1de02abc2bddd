/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stacks of waiting threads and of those that wake them, on their way to offcpu.h, and the time of
 * waits on its way from there to the counts. One thread, the decoder's.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct offcpu;
struct offcpu_time;
struct record_header;
struct sample_counts;
struct sample_counts_thread;
struct sample_labels;
struct sampler;

/* A stack that was walked, leaf first; everything is borrowed for the call. */
struct wait_stack {
	const struct record_header *head; /* of its record */
	const struct sample_counts_thread *thread;
	const struct sample_labels *labels;
	const uint64_t *words;
	size_t n;
	bool is_asleep; /* the stack of a thread that may have resumed while it was read */
};

/* Keeps the stack. Returns 0 or -ENOMEM. */
int wait_records_keep(struct offcpu *o, struct sampler *sampler, const struct wait_stack *s);

/* Counts time that a thread waited. Returns what sample_counts_add() returns. */
int wait_records_count(struct sample_counts *c, const struct offcpu_time *t);
