/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Rules that select which processes are profiled:
 *
 *   include|exclude [KEY=PATTERN | KEY!=PATTERN]... [off-cpu=yes|no]
 *
 * A rule matches if all of its patterns do; one without patterns matches every process. The first
 * rule that matches decides. A process that no rule matches is profiled if there is an exclude
 * rule, or no rule at all; if all rules include, it is excluded. off-cpu=no in an include rule
 * excludes the waits of the process.
 *
 * In a pattern * stands for any characters, slashes among them, and ? for one. A pattern with
 * blanks is put in double quotes, inside which \" and \\ stand for a quote and a backslash.
 * Matching takes at most the product of the lengths in steps. Pure functions on texts; constant
 * after select_rules_add(), so threads may share them.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

struct err;
struct select_rules;

enum select_key {
#define X(symbol, name) SELECT_KEY_##symbol,
#include "metadata/select_keys.def"
#undef X
	SELECT_KEY_MAX,
};

enum { SELECT_RULES_LIMIT = 63 };

/*
 * The attributes of a process; NULL is like "". SELECT_KEY_CGROUP is the content of
 * /proc/PID/cgroup: a pattern is compared with the path of each hierarchy.
 */
struct select_subject {
	const char *of[SELECT_KEY_MAX];
};

struct select_decision {
	int rule; /* the index of the rule that decided; -1: none matched */
	bool cpu, off_cpu;
	bool by_program; /* comm or exe of the process may have decided */
};

int select_rules_new(struct select_rules **out);
void select_rules_free(struct select_rules *s);

DEFINE_FREEP(struct select_rules, select_rules_free)

/* Parses a rule and appends it. Returns 0; -EINVAL with the reason in @err; -ENOMEM. */
int select_rules_add(struct select_rules *s, const char *text, struct err *err);

/* Returns 0, or -EINVAL with the reason in @err if @text is not a rule; -ENOMEM. */
int select_rule_check(const char *text, struct err *err);

size_t select_rules_count(const struct select_rules *s);

/* The text that rule @i was made of. Borrowed. */
const char *select_rules_text(const struct select_rules *s, size_t i);

/* Returns true if the processes that rule @i matches are profiled. */
bool select_rules_includes(const struct select_rules *s, size_t i);

/* Returns true if a rule matches @key. */
bool select_rules_use(const struct select_rules *s, enum select_key key);

/* The decision about a process that no rule matches. */
struct select_decision select_rules_default(const struct select_rules *s);

struct select_decision select_rules_decide(const struct select_rules *s,
					   const struct select_subject *subject);

/* Returns true if all of @text matches @pattern. @text has @len bytes. */
bool select_glob(const char *pattern, const char *text, size_t len);
