/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The slots of a day that gained windows since their rollups (rollup.h) were computed. The writer
 * adds the slots of the windows that it commits, so the search for rollups costs time by the number
 * of pushes since the last one and not by the size of the day. A day is searched completely after
 * it was opened and after its set was full. Any thread may call any function.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/index.h"
#include "base/vec.h"

/*
 * The place of one rollup: series, level and time, and the windows in it. n_windows and last_block
 * describe the slot when it was found and decide later whether its rollup is still valid.
 */
struct rollup_slot {
	uint32_t series;
	int level;
	int64_t start, n_windows, last_block;
};

struct rollup_slots {
	VEC(struct rollup_slot);
};

void rollup_slots_fini(struct rollup_slots *s);

struct rollup_due_slot {
	uint32_t series;
	int level;
	int64_t start;
	uint64_t round; /* of the last addition */
};

struct rollup_due {
	pthread_mutex_t lock;
	struct {
		VEC(struct rollup_due_slot);
	} slots;
	struct index index; /* of slots */
	uint64_t round;     /* the number of searches */
	bool incomplete;
};

/* Begins incomplete, because the windows of an existing day are not known. */
void rollup_due_init(struct rollup_due *due);
void rollup_due_fini(struct rollup_due *due);

/* Adds the slot of each level. If memory runs out or the set is full, it becomes incomplete. */
void rollup_due_add(struct rollup_due *due, uint32_t series, int64_t time_ns);
void rollup_due_add_slot(struct rollup_due *due, uint32_t series, int level, int64_t start);

/*
 * True if slots may be missing and the set has room for them. The caller then adds every slot of
 * the day that lacks a rollup. Slots that the writer adds meanwhile stay.
 */
bool rollup_due_begin_search(struct rollup_due *due);

/* The slots may be incomplete again: a search failed. */
void rollup_due_forget(struct rollup_due *due);

/*
 * True if rollup_due_take() would find slots, or some may be missing. Otherwise it counts as a call
 * of that.
 */
bool rollup_due_any(struct rollup_due *due, int64_t before_ns);

/* Slots to pack per call: a few tenths of a second of CPU. */
enum { ROLLUP_DUE_PACKS = 512 };

/*
 * Moves at most @limit slots, with at most ROLLUP_DUE_PACKS to pack, to @out: those that end
 * before @before_ns and gained nothing since the previous call. n_windows and last_block are 0.
 * Returns 0 or -ENOMEM.
 */
int rollup_due_take(struct rollup_due *due, int64_t before_ns, size_t limit,
		    struct rollup_slots *out);

size_t rollup_due_bytes(struct rollup_due *due);
