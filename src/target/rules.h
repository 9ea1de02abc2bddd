/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the operator says about labels:
 *
 *	MATCH... : ACTION, ACTION...
 *
 * A match is LABEL=TEXT, LABEL!=TEXT, LABEL=~REGEX (somewhere in the value; PCRE)
 * or LABEL!~REGEX; all must hold. A text with blanks or a colon stands in double
 * quotes, in which \" and \\ are what they are elsewhere. An action is
 * `set LABEL VALUE`, `copy FROM TO`, `drop LABEL` or `drop-process`. Rules
 * apply in order, each to what the ones before have left.
 */
#include <stdbool.h>

#include "base/cleanup.h"

struct err;
struct target_labels;
struct rules;

int rules_new(struct rules **out);
void rules_free(struct rules *r);

DEFINE_FREEP(struct rules, rules_free)

/* One more rule. 0; -EINVAL and @err says what is wrong with it; -ENOMEM. */
int rules_add(struct rules *r, const char *text, struct err *err);

/* 0; RULES_DROP: the process is not wanted; -ENOMEM. One thread at a time. */
enum { RULES_DROP = 1 };
int rules_apply(struct rules *r, struct target_labels *labels);
