/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A small set of labels (name and value pairs), each name once. Zero-initialize it; free it with
 * metadata_labels_fini(). Names and values are copied. One thread at a time.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	LABELS_MAX = 32,
	LABEL_NAME_MAX = 128,   /* bytes; a longer name is refused */
	LABEL_VALUE_MAX = 1024, /* bytes; a longer value is truncated */
};

struct metadata_label {
	char *name, *value; /* owned */
};

struct metadata_labels {
	struct metadata_label of[LABELS_MAX];
	size_t n;
};

void metadata_labels_fini(struct metadata_labels *s);

/*
 * Adds or replaces a label; an empty value removes it. Values are truncated to
 * LABEL_VALUE_MAX, and invalid UTF-8 is replaced by U+FFFD. Returns 0, -ENOMEM, -EINVAL for
 * an invalid name ([A-Za-z_][A-Za-z0-9_]*), or -E2BIG if the set is full.
 */
int metadata_labels_put(struct metadata_labels *s, const char *name, const char *value);
void metadata_labels_remove(struct metadata_labels *s, const char *name);

/* The value of a label, borrowed until the set changes; "" if there is no such label. */
const char *metadata_labels_get(const struct metadata_labels *s, const char *name);

/* Overwrites *@to without freeing it. Returns 0 or -ENOMEM, with @to empty. */
int metadata_labels_copy(struct metadata_labels *to, const struct metadata_labels *from);

/* Sorts by name, service_name first, so that equal sets have equal order. */
void metadata_labels_sort(struct metadata_labels *s);

/* Both sets must be sorted. */
bool metadata_labels_equal(const struct metadata_labels *a, const struct metadata_labels *b);
/* The set must be sorted. */
uint64_t metadata_labels_hash(const struct metadata_labels *s);

bool metadata_label_name_is_valid(const char *name);
