/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A profile for formats that draw one track per thread (Chrome, Firefox): every stack is a row of
 * frames from its root, equal frames have one id, and every sample belongs to one thread. Building
 * takes one pass over locations and one over samples; afterwards it is constant and may be read
 * from any thread.
 */
#include <stdint.h>

#include "base/vec.h"

struct profile;
struct strtab;

/* Frames are equal if name, file and kind are. */
struct tracks_frame {
	uint32_t name, file;   /* ids in tracks.strings; file 0: not known */
	uint32_t line, column; /* of the first such frame; 0: not known */
	uint8_t kind;          /* enum profile_frame_kind */
};

/* From the labels pid, tid, comm and thread; 0 and "" for missing ones. Strings are borrowed. */
struct tracks_thread {
	int64_t pid, tid;
	const char *process, *name;
};

struct tracks_stack {
	VEC(uint32_t); /* frame ids */
};

struct tracks {
	const struct profile *p;
	struct strtab *strings;
	struct {
		VEC(struct tracks_frame);
	} frames;
	struct {
		VEC(struct tracks_thread);
	} threads;
	uint32_t *first;     /* by location: index of its innermost frame in location_frames */
	uint32_t *thread_of; /* by sample */
	struct {
		VEC(uint32_t);
	} location_frames; /* frame ids of all locations, innermost first */
};

/* Borrows @p. Returns 0 or -ENOMEM; tracks_fini() must follow in either case. */
int tracks_init(struct tracks *t, const struct profile *p);
void tracks_fini(struct tracks *t);

/*
 * Replaces the content of @out by the frames of a stack of the profile, root first. Zero-initialize
 * @out before the first call and free it with vec_fini(). Returns 0 or -ENOMEM.
 */
int tracks_stack(const struct tracks *t, uint32_t stack, struct tracks_stack *out);
