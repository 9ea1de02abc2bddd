/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The rows of a table: functions, binaries, files, lines, waits or label values, with dense ids
 * from 0. A function is a name in a binary, of a kind (the kernel's read() is not libc's), wherever
 * it was inlined.
 *
 * Ids are given in the order of first use, so a table has rows only for entries that occurred in a
 * stack or sample that was looked up.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct entries;
struct profile;
struct profile_sample;

enum entries_by {
	ENTRIES_BY_FUNCTION,
	ENTRIES_BY_BINARY,
	ENTRIES_BY_FILE,
	ENTRIES_BY_LINE,
	ENTRIES_BY_COLUMN, /* as lines, but different columns are different rows */
	ENTRIES_BY_LANGUAGE,
	ENTRIES_BY_WAKER, /* one row per stack: the function that waited, and who ended the wait */
	ENTRIES_BY_PROCESS, /* from here on rows are properties of samples, not of frames */
	ENTRIES_BY_THREAD,
	ENTRIES_BY_LABEL,
};

/* Texts are borrowed and valid as long as the table. */
struct entry {
	const char *name;
	const char *binary; /* of functions and lines; else "" */
	const char *file;   /* source file of the first one seen; else "" */
	uint8_t kind;       /* enum profile_frame_kind */
};

/*
 * Creates an empty table over @p, which must outlive it. @key is the label of ENTRIES_BY_LABEL.
 * Returns 0 or -ENOMEM.
 */
int entries_new(struct entries **out, const struct profile *p, enum entries_by by, const char *key);
void entries_free(struct entries *e);

DEFINE_FREEP(struct entries, entries_free)

static inline bool entries_of_samples(enum entries_by by)
{
	return by >= ENTRIES_BY_PROCESS;
}

/*
 * Finds the ids of a stack's frames, leaf first; they are valid until the next call. Returns 0 or
 * -ENOMEM. An entry occurs several times in a stack that recurses, or that passes through a binary
 * or file repeatedly.
 */
int entries_of_stack(struct entries *e, uint32_t stack, const uint32_t **out_ids, size_t *out_n);

/*
 * Finds the id for the labels of a sample; samples without such labels share one. Returns 0 or
 * -ENOMEM.
 */
int entries_of_labels(struct entries *e, const struct profile_sample *s, uint32_t *out_id);

uint32_t entries_count(const struct entries *e);
struct entry entries_get(const struct entries *e, uint32_t id);
