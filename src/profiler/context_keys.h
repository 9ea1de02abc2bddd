/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Makes the labels of samples, with the names of the keys in thread contexts. It remembers the
 * names of the programs that were sampled recently. A program publishes them in a mapping of a
 * known name, whose content a reader process reads (lang/context/process_context.h). They are
 * searched for when a sample has a key without a name: after a second, then at intervals that
 * double, because a search reads all mappings. One thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "profiler/sample_counts.h"

struct context_keys;
struct context_names;
struct lang_process;
struct langs;
struct record_header;

/* @langs is borrowed. Returns 0 or -ENOMEM. */
int context_keys_new(struct context_keys **out, struct langs *langs);
void context_keys_free(struct context_keys *k);

DEFINE_FREEP(struct context_keys, context_keys_free)

/*
 * Makes the labels of a valid record of @len bytes of the process @p, which has a context at its
 * end. They are borrowed until the next call.
 */
struct sample_labels context_keys_labels(struct context_keys *k, const struct lang_process *p,
					 const struct record_header *h, size_t len,
					 uint64_t now_ns);

/* Stores the number of invalid contexts, and of labels that have no name or were cut. */
void context_keys_stats(const struct context_keys *k, uint64_t *out_bad, uint64_t *out_dropped);
