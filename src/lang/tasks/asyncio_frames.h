/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The places at which coroutines are suspended, as frames of a snapshot. Most tasks are suspended
 * at one of a few places, so each is read once. One thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/index.h"
#include "base/vec.h"

struct asyncio_layout;
struct python_objects;
struct task_snapshot;

enum { ASYNCIO_PLACES_MAX = 65536 };

/* How a frame shows what its coroutine waits for. */
enum asyncio_wait {
	ASYNCIO_WAIT_NONE,   /* the function is not a known one of asyncio */
	ASYNCIO_WAIT_NAMED,  /* asyncio_place.text names it */
	ASYNCIO_WAIT_OBJECT, /* the object whose method it is, such as a lock */
};

struct asyncio_place {
	uint64_t code, at; /* address of the code object; saved position in it */
	uint32_t frame;    /* its id in the snapshot */
	bool awaits;       /* the frame's last object is what the coroutine awaits */
	uint8_t wait;      /* enum asyncio_wait */
	uint8_t wake;      /* enum task_wake */
	char text[24];     /* "sleep"; with ASYNCIO_WAIT_OBJECT, the method: "acquire" */
};

struct asyncio_frames {
	const struct asyncio_layout *layout;
	struct python_objects *objects;
	struct task_snapshot *out;
	const char *directory; /* of the standard library, with a slash; "" if it is unknown */

	/* private */
	struct {
		VEC(struct asyncio_place);
	} places;
	struct index index;
	uint64_t seed;    /* of the index; 0: not set yet */
	uint32_t last[2]; /* numbers of the two places that are probably next */
};

void asyncio_frames_fini(struct asyncio_frames *f);

/*
 * Looks up or reads the place @at, as a frame saves it, in the code object @code. *@out is valid
 * until the next call.
 * Return: 0; -EBADMSG if @code is not a code object, or there are too many places; -EFAULT; -ETIME;
 * -ENOMEM.
 */
int asyncio_frames_get(struct asyncio_frames *f, uint64_t code, uint64_t at,
		       const struct asyncio_place **out);
