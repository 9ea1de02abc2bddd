/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Waiting times that the runtime does not record: the first snapshot that contained a task at the
 * same place is a lower bound. Holds one entry per task of the last snapshot.
 */
#include <stdint.h>

#include "base/index.h"
#include "base/vec.h"

struct task_snapshot;

struct task_age {
	uint64_t place;
	uint64_t since_ns; /* CLOCK_MONOTONIC */
};

struct task_ages {
	struct {
		VEC(struct task_age);
	} all;
	struct index index;
};

void task_ages_fini(struct task_ages *a);

/*
 * Fills in since_ns of the waiting tasks that have none and were in the previous snapshot, and
 * remembers this one. Returns 0 or -ENOMEM.
 */
int task_ages_apply(struct task_ages *a, struct task_snapshot *s);
