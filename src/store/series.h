/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A series as the words that symbols keep: its name, its period's type and unit,
 * its sample types and its labels, sorted. One row stands for as many series of
 * the store's interface as it has sample types.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "store/store.h"

struct symbols;

enum { SERIES_MAX_LABELS = 64 };

/* The one word of a series that is a number and no string: how many sample types it has. */
enum { SERIES_WORD_N_TYPES = 3 };

/* A series from its words. 0; -EBADMSG; -ENOMEM. */
int series_add(struct symbols *s, const uint32_t *words, size_t n, uint32_t *out_id);

/* From a profile and one of its samples' labels. 0; -EINVAL for too much of something; -ENOMEM. */
int series_of_sample(struct symbols *s, const struct store_profile *p, uint32_t sample,
		     uint32_t *out_id);

/* Is it well-formed? Asked once, of what came from a file. */
bool series_valid(const struct symbols *s, uint32_t id);

uint32_t series_n_types(const struct symbols *s, uint32_t id);

/* Is it NAME:TYPE:UNIT:..., in its @k-th sample type? */
bool series_is(const struct symbols *s, uint32_t id, uint32_t k, const struct store_type *type);

/* All labels of the @k-th, sorted; borrowed until the next call with the same view. */
struct series_view {
	struct {
		VEC(struct store_label);
	} labels;
	struct buf type;
};

void series_view_fini(struct series_view *v);
int series_view(struct series_view *v, const struct symbols *s, uint32_t id, uint32_t k);
bool series_view_matches(const struct series_view *v, struct matcher *const *matchers, size_t n);
