/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The labels of a target: names and values, each name once. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	LABELS_MAX = 32,
	LABEL_NAME_MAX = 128,   /* bytes; a longer name is refused */
	LABEL_VALUE_MAX = 1024, /* bytes; a longer value is cut */
};

struct target_label {
	char *name, *value; /* owned */
};

struct target_labels {
	struct target_label of[LABELS_MAX];
	size_t n;
};

void target_labels_fini(struct target_labels *s);

/*
 * Set or replace; an empty value drops it. Values are cut, and what is not UTF-8
 * in them becomes U+FFFD. 0; -ENOMEM; -EINVAL for a name that is none
 * ([A-Za-z_][A-Za-z0-9_]*) and -E2BIG for one too many.
 */
int target_labels_put(struct target_labels *s, const char *name, const char *value);
void target_labels_drop(struct target_labels *s, const char *name);
const char *target_labels_get(const struct target_labels *s,
			      const char *name); /* "" if it is not there */
int target_labels_copy(struct target_labels *to,
		       const struct target_labels *from); /* 0 or -ENOMEM */

/* service_name first, the others by name: equal sets are equal in order, too. */
void target_labels_sort(struct target_labels *s);
bool target_labels_equal(const struct target_labels *a,
			 const struct target_labels *b);    /* both sorted */
uint64_t target_labels_hash(const struct target_labels *s); /* sorted */

bool label_name_is_good(const char *name);
