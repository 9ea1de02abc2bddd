/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Follows what a coroutine awaits: coroutines, generators and asynchronous generators, up to the
 * future that ends the chain. Objects are untrusted: a chain ends after TASK_FRAMES_MAX objects,
 * even if it is circular.
 */
#include <stdbool.h>
#include <stdint.h>

#include "lang/tasks/task_snapshot.h"

struct asyncio_frames;

enum asyncio_state {
	ASYNCIO_CREATED, /* it has not begun */
	ASYNCIO_SUSPENDED,
	ASYNCIO_RUNNING,
	ASYNCIO_FINISHED,
};

/* The state of a coroutine. */
struct asyncio_coroutine {
	uint64_t frame; /* address of its frame */
	uint64_t code, at;
	enum asyncio_state state;
	bool yields; /* it has yielded an object, which the state of 3.13 and later shows */
};

/* Reads the coroutine, or the generator of any kind, at @addr. Errors of task_pages_read(). */
int asyncio_coroutine_read(struct asyncio_frames *f, uint64_t addr, struct asyncio_coroutine *out);

struct asyncio_chain {
	uint32_t frames[TASK_FRAMES_MAX]; /* outermost first */
	uint32_t n;
	uint64_t future;   /* the innermost object, which is a future; 0: none is known */
	uint64_t object;   /* the first argument of the innermost call; 0: unknown */
	uint64_t position; /* in the innermost code object */
	uint8_t wait;      /* enum asyncio_wait of the innermost call, and its text */
	uint8_t wake;      /* enum task_wake of it */
	char text[24];
	bool is_cut; /* it could not be followed to its end */
};

/*
 * Follows the chain from the coroutine at @addr, which was read into @first. Return: 0; -ETIME;
 * -ENOMEM.
 */
int asyncio_walk(struct asyncio_frames *f, uint64_t addr, const struct asyncio_coroutine *first,
		 struct asyncio_chain *out);
