/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The list of all places where something may be lost (losses.def), with the number of losses at
 * each. The metrics of an agent and the summary of a recording iterate over it, so that a new
 * place cannot be missing in one of them. Pure functions of statistics that others collect; any
 * thread. All texts are constant.
 */
#include <stdint.h>

struct session_stats;
struct symbolize_stats;

/* The thing that is lost: a sample, the name of a frame, a label, ... */
enum loss_kind {
#define LOSS_KIND(kind, metric, help, one, several) LOSS_##kind,
#include "symbolize/losses.def"
	LOSS_KIND_MAX,
};

/* A place where something may be lost; it has one kind and one reason. */
enum loss {
#define LOSS(kind, symbol, reason, value, text) LOSS_##symbol,
#include "symbolize/losses.def"
	LOSS_MAX,
};

/* Where the counts come from. Both pointers are borrowed during a call and must not be NULL. */
struct loss_sources {
	const struct session_stats *session;
	const struct symbolize_stats *symbols;
	/* The counts below exist in an agent only; they are 0 in a recording. */
	uint64_t n_unsent;         /* samples not symbolized when the agent stopped */
	uint64_t n_series_over;    /* profiles that lost labels to the limit of series */
	uint64_t n_unread;         /* profiles whose process was not read in time */
	uint64_t n_windows_failed; /* windows that were not exported for lack of memory */
};

/* Returns the number of losses since the start, in the unit of losses_kind(). */
uint64_t losses_value(enum loss loss, const struct loss_sources *in);

/* Below, @loss is less than LOSS_MAX and @kind less than LOSS_KIND_MAX. */

enum loss_kind losses_kind(enum loss loss);
/* Returns the value of the metric's label "reason", such as "ring_full". */
const char *losses_reason(enum loss loss);
/* Returns the reason as a clause for a summary, such as "the ring buffer was full". */
const char *losses_text(enum loss loss);

/* Returns the name of the metric in which all losses of a kind are counted, by reason. */
const char *losses_metric(enum loss_kind kind);
/* Returns the help text of that metric, a sentence. */
const char *losses_help(enum loss_kind kind);
/* Returns the predicate of @n losses in a summary: "sample is lost" or "samples are lost". */
const char *losses_noun(enum loss_kind kind, uint64_t n);
