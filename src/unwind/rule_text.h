/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Unwind rules as text, for people who debug a walk. */
#include <stddef.h>

struct unwind_rule;

enum { UNWIND_RULE_TEXT_MAX = 160 };

/*
 * Describes @rule in one line without a newline, such as "rsp+16  rbp at cfa-16", into @out,
 * which holds UNWIND_RULE_TEXT_MAX bytes. The notation is that of `cameo unwind-info`.
 */
void unwind_rule_text(const struct unwind_rule *rule, char *out);
