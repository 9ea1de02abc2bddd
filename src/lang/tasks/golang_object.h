/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Finds the object that a goroutine waits for, and what can end its wait. */
#include <stdbool.h>
#include <stdint.h>

#include "lang/tasks/task_memory.h"

struct golang_layout;
struct task;

/* The memory of sudogs and that of channels. Goroutines next to each other often share a page. */
struct golang_objects {
	struct task_memory sudogs, channels;
};

/* Initializes the zeroed @o to read the same process as @m, with the same limits. */
void golang_objects_init(struct golang_objects *o, const struct task_memory *m);

/*
 * Sets object and wake of @t, whose g has the list @waiting of sudogs. The object of a channel is
 * its address, that of a lock the address of its semaphore; a select has none, since it may have
 * many. Returns true if it waits for a lock, whose address is known.
 */
bool golang_object_find(struct golang_objects *m, const struct golang_layout *layout,
			uint64_t waiting, const char *reason, struct task *t);
