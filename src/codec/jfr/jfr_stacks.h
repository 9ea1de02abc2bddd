/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Adds the stack traces of a chunk to profiles. Each profile has its own ids, so what was added to
 * it is remembered by profile: a stack trace or method that occurs again costs a search only.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "codec/jfr/jfr_types.h"

struct codec_limits;
struct err;
struct jfr_chunk;
struct profile;

/* The function of a method in one profile. */
struct jfr_method_id {
	uint32_t function; /* 0: not added yet, else the id + 1 */
	bool native;       /* it is not a method but a native function */
};

/* The ids in one profile, by index of the constant. */
struct jfr_stack_ids {
	uint32_t *stacks; /* 0: not added yet, else the id + 1 */
	struct jfr_method_id *methods;
};

/* A zeroed struct is empty. */
struct jfr_stacks {
	struct jfr_chunk *chunk;
	const struct codec_limits *limits;
	struct jfr_shape stack, frame, method, class, symbol, frame_type, thread, state;
	struct buf text, other;
	struct {
		VEC(uint32_t);
	} locations;
};

/* Prepares for a chunk. Both pointers are borrowed until jfr_stacks_fini(). */
void jfr_stacks_init(struct jfr_stacks *s, struct jfr_chunk *chunk,
		     const struct codec_limits *limits);
void jfr_stacks_fini(struct jfr_stacks *s);

void jfr_stack_ids_fini(struct jfr_stack_ids *ids);

/*
 * Adds stack trace @ref of the chunk to @p. A trace that the recording lacks becomes the frame
 * "[no stack trace]", and one that the recorder truncated ends in "[truncated stack trace]".
 * Returns 0 and its id in @p; -EBADMSG or -EFBIG with the reason in @err; -ENOMEM.
 */
int jfr_stack_add(struct jfr_stacks *s, struct jfr_stack_ids *ids, struct profile *p, uint64_t ref,
		  uint32_t *out_id, struct err *err);

/* Appends the name of thread @ref; nothing if it is unknown. Returns 0 or -EBADMSG. */
int jfr_thread_name(struct jfr_stacks *s, uint64_t ref, struct buf *out);

/* Appends the name of thread state @ref, such as STATE_RUNNABLE; nothing if it is unknown. */
int jfr_state_name(struct jfr_stacks *s, uint64_t ref, struct buf *out);

/* Appends a text, and looks it up if it is a constant. Returns 0 or -EBADMSG. */
int jfr_resolve_text(struct jfr_stacks *s, struct jfr_text t, struct buf *out);
