/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the rows of a table are: functions, binaries, files, lines, or values of
 * labels, each with an id, dense from 0. A function is a name in a binary (and
 * of a kind: the kernel's read() is not libc's), wherever it was inlined.
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
	ENTRIES_BY_COLUMN, /* lines, those apart whose columns differ */
	ENTRIES_BY_LANGUAGE,
	ENTRIES_BY_PROCESS, /* from here on: of samples, not of frames */
	ENTRIES_BY_THREAD,
	ENTRIES_BY_LABEL,
};

/* Texts are borrowed and live as long as the table. */
struct entry {
	const char *name;
	const char *binary; /* of functions and lines; else "" */
	const char *file;   /* the source's, of the first one met; else "" */
	uint8_t kind;       /* enum profile_frame_kind */
};

/* 0 and a new, empty table over @p, which must live longer; -ENOMEM. @key: of ENTRIES_BY_LABEL. */
int entries_new(struct entries **out, const struct profile *p, enum entries_by by, const char *key);
void entries_free(struct entries *e);

DEFINE_FREEP(struct entries, entries_free)

static inline bool entries_of_samples(enum entries_by by)
{
	return by >= ENTRIES_BY_PROCESS;
}

/*
 * The ids of a stack's frames, the leaf first: 0 or -ENOMEM. They are borrowed
 * until the next call.
 */
int entries_of_stack(struct entries *e, uint32_t stack, const uint32_t **out_ids, size_t *out_n);

/* The id of what a sample's labels say; a sample without them has one of its own. */
int entries_of_labels(struct entries *e, const struct profile_sample *s, uint32_t *out_id);

uint32_t entries_count(const struct entries *e);
struct entry entries_get(const struct entries *e, uint32_t id);
