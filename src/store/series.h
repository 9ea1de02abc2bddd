/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A series as a stack dictionary holds it: its name, the period's type and unit, its sample types
 * and its sorted labels. One such row stands for one series of the store's interface per sample
 * type.
 *
 * The words are the form in which series are stored on disk (stack_dict.h) and hashed for
 * ClickHouse; their order cannot change without a new version of both. Derived labels are computed
 * when a series is viewed, since they follow from the words.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "store/store.h"

struct err;
struct stack_dict;

enum { SERIES_MAX_LABELS = 64 };

/* Index of the only word that is a number and not a string id: the number of sample types. */
enum { SERIES_WORD_N_TYPES = 3 };

/*
 * Adds a series by its words. Returns 0, -EBADMSG if they are malformed, or -ENOMEM. A row that is
 * malformed but for its length may remain in @s, which the caller drops after such an error.
 */
int series_add(struct stack_dict *s, const uint32_t *words, size_t n, uint32_t *out_id);

/*
 * Adds the series of a profile and the labels of one of its samples. Returns 0, -EINVAL if it has
 * too many labels or sample types, or -ENOMEM. Labels of the sample that are numbers, or identify a
 * single profile, span or trace, do not become part of the series: each would begin a series of its
 * own and the number of series would grow with that of samples.
 */
int series_of_sample(struct stack_dict *s, const struct store_profile *p, uint32_t sample,
		     uint32_t *out_id);

/*
 * Does a series lack the label @key of its samples? profile_id, span_id and trace_id identify a
 * single profile, span or trace, and would begin a series for each.
 */
bool series_omits(const char *key);

/*
 * Returns 0 if a store accepts the labels and sample types of @p, or -EINVAL with the reason in
 * @err. Callers that append several profiles call it first, to refuse single ones.
 */
int series_check(const struct store_profile *p, struct err *err);

/*
 * Checks that the words of a series read from a file are well-formed. The functions below rely on
 * it and do not check again. The strings must have been loaded before.
 */
bool series_valid(const struct stack_dict *s, uint32_t id);

/* The number of the series' sample types, at most BLOCK_MAX_TYPES. */
uint32_t series_n_types(const struct stack_dict *s, uint32_t id);

/* True if the @k-th sample type of the series is @type. */
bool series_is(const struct stack_dict *s, uint32_t id, uint32_t k, const struct store_type *type);

/*
 * All labels of the @k-th sample type, sorted by name. Valid until the next call with the same
 * view. Strings are borrowed from the dictionary, except that of __profile_type__, which is in
 * type.
 */
struct series_view {
	struct {
		VEC(struct store_label);
	} labels;
	struct buf type;
};

void series_view_fini(struct series_view *v);

/*
 * Returns 0 or -ENOMEM. The caller holds the lock of the dictionary during the call; afterwards the
 * labels stay valid as long as the dictionary, because strings never move.
 */
int series_view(struct series_view *v, const struct stack_dict *s, uint32_t id, uint32_t k);

/*
 * True if all matchers match. A label that the series does not have is matched as "". A matcher's
 * scratch memory is used, so matchers must belong to this thread.
 */
bool series_view_matches(const struct series_view *v, struct matcher *const *matchers, size_t n);
