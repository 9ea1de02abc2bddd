/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The list of all places where something may be lost (losses.def), with what was counted there.
 * Pure functions of statistics that others collect; any thread.
 */
#include <stdint.h>

struct session_stats;
struct symbolize_stats;

enum loss_kind {
#define LOSS_KIND(kind, metric, help, one, several) LOSS_##kind,
#include "symbolize/losses.def"
	LOSS_KIND_MAX,
};

enum loss {
#define LOSS(kind, symbol, reason, value, text) LOSS_##symbol,
#include "symbolize/losses.def"
	LOSS_MAX,
};

/* Where the counts come from. Both pointers are borrowed during a call and must not be NULL. */
struct loss_sources {
	const struct session_stats *session;
	const struct symbolize_stats *symbols;
	/* of an agent; 0 in a recording */
	uint64_t n_unsent, n_series_over, n_unread, n_windows_failed;
};

/* How much was lost since the start. */
uint64_t losses_value(enum loss loss, const struct loss_sources *in);

/* The kind of a loss; its label in metrics; the reason as text, without a capital and a full stop.
 */
enum loss_kind losses_kind(enum loss loss);
const char *losses_reason(enum loss loss);
const char *losses_text(enum loss loss);

/* The metric of a kind, and its help text. */
const char *losses_metric(enum loss_kind kind);
const char *losses_help(enum loss_kind kind);
/* What @n losses of a kind are: "samples are lost". */
const char *losses_noun(enum loss_kind kind, uint64_t n);
