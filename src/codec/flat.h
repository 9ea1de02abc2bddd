/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A profile as formats of time lines want it: each stack as a row of frames
 * from its root, frames alike to people being one; each sample of one thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct profile;
struct strtab;

struct flat_frame {
	uint32_t name, file;   /* strings of flat.strings; file 0: not known */
	uint32_t line, column; /* where it was first seen */
	uint8_t kind;          /* enum profile_frame_kind */
};

/* By the labels pid, tid, comm and thread; 0 and "" for what a profile does not tell. */
struct flat_thread {
	int64_t pid, tid;
	const char *process, *name;
};

struct flat_stack {
	VEC(uint32_t);
};

struct flat {
	const struct profile *p;
	struct strtab *strings;
	struct {
		VEC(struct flat_frame);
	} frames;
	struct {
		VEC(struct flat_thread);
	} threads;
	uint32_t *first;     /* by location: where its frames start in location_frames */
	uint32_t *thread_of; /* by sample */
	struct {
		VEC(uint32_t);
	} location_frames; /* innermost first */
};

/* 0 or -ENOMEM; flat_fini() in any case. @p is borrowed. */
int flat_init(struct flat *f, const struct profile *p);
void flat_fini(struct flat *f);

/* The frames of a stack of the profile, the root first, in place of what @out held. */
int flat_stack(const struct flat *f, uint32_t stack, struct flat_stack *out);
