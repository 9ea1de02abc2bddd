/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Labeling rules of the operator:
 *
 *   MATCH... : ACTION, ACTION...
 *
 * A match is LABEL=TEXT, LABEL!=TEXT, LABEL=~REGEX (PCRE, matched anywhere in the value) or
 * LABEL!~REGEX; all of them must hold. A text with blanks or a colon is put in double quotes,
 * inside which \" and \\ stand for a quote and a backslash. An action is `set LABEL VALUE`,
 * `copy FROM TO`, `drop LABEL` or `drop-process`. Rules apply in order, each to the result of
 * those before it. One thread at a time.
 */

#include "base/cleanup.h"

struct err;
struct metadata_labels;
struct rules;

int rules_new(struct rules **out);
void rules_free(struct rules *r);

DEFINE_FREEP(struct rules, rules_free)

/*
 * Parses a rule and appends it. Returns 0; -EINVAL with the reason in @err; -ENOMEM. Expressions
 * are compiled now, so a wrong one is an error of the configuration.
 */
int rules_add(struct rules *r, const char *text, struct err *err);

/* Returns 0, or -EINVAL with the reason in @err if @text is not a rule; -ENOMEM. */
int rule_check(const char *text, struct err *err);

/*
 * Applies all rules to @labels. Returns 0, RULES_DROP to drop the process, or
 * -ENOMEM.
 */
enum { RULES_DROP = 1 };
int rules_apply(struct rules *r, struct metadata_labels *labels);
