/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Applies the rules of selection (metadata/select_rules.h) to processes: reads the attributes that
 * the rules use, and decides. It does not track processes; the process table calls it. Used by the
 * sampling thread. Names of containers and pods come from files, never from the kubelet's API,
 * which may take seconds.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "process/process_rules.h"

struct err;
struct selector;

struct selector_opts {
	const char *const *rules;
	size_t n_rules;
	const char *root; /* root directory of the host */
};

/* All texts are copied. Returns 0; -EINVAL with @err for an invalid rule; -ENOMEM. */
int selector_new(struct selector **out, const struct selector_opts *opts, struct err *err);
void selector_free(struct selector *s);

DEFINE_FREEP(struct selector, selector_free)

/* The argument of session_set_rules(), valid as long as @s. Without rules, everything is profiled.
 */
struct process_rules selector_rules(struct selector *s);

size_t selector_count(const struct selector *s);

/* The text of rule @i, borrowed; NULL if it excludes nothing. */
const char *selector_exclude_text(const struct selector *s, size_t i);

/* Returns true if processes are profiled that no rule matches. */
bool selector_includes_others(const struct selector *s);
