/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The constants of one chunk of a recording: stack traces, methods, names and others, to which
 * events refer by class and id. The position of each constant is noted, and the constant is read
 * when something refers to it.
 *
 * Source: jdk.jfr.internal.consumer.ChunkParser (fillConstantPools) of OpenJDK.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "codec/jfr/jfr_cursor.h"
#include "codec/jfr/jfr_types.h"

/* The classes whose constants are needed. */
enum jfr_pool_class {
	JFR_POOL_STACK,
	JFR_POOL_METHOD,
	JFR_POOL_CLASS,
	JFR_POOL_SYMBOL,
	JFR_POOL_FRAME_TYPE,
	JFR_POOL_STATE,
	JFR_POOL_THREAD,
	JFR_POOL_STRING,
	JFR_POOLS,
};

struct jfr_constant {
	uint64_t id;
	size_t at; /* position of its value in the chunk */
};

/* A zeroed struct is empty. */
struct jfr_pools {
	struct jfr_pool {
		struct {
			VEC(struct jfr_constant); /* in the order of ids */
		} constants;
	} pools[JFR_POOLS];
	size_t n; /* constants in all pools */
};

void jfr_pools_fini(struct jfr_pools *p);

/*
 * Reads all checkpoint events of a chunk, which form a list: the last is at @at, and each has the
 * distance to the one before it. @c is a cursor over the chunk; its position does not matter.
 * Returns 0; -EBADMSG if they are malformed; -EFBIG if there are more than @max constants;
 * -ENOMEM.
 */
int jfr_pools_read(struct jfr_pools *p, const struct jfr_types *t, struct jfr_cursor *c, size_t at,
		   size_t max);

enum { JFR_NO_CONSTANT = UINT32_MAX };

/* Returns the index of a constant in its pool, or JFR_NO_CONSTANT. */
uint32_t jfr_constant(const struct jfr_pools *p, enum jfr_pool_class class, uint64_t id);

/* Returns the number of constants in a pool. */
size_t jfr_pool_len(const struct jfr_pools *p, enum jfr_pool_class class);

/* Sets the cursor to the value of a constant. Returns its index, or JFR_NO_CONSTANT. */
uint32_t jfr_constant_seek(const struct jfr_pools *p, enum jfr_pool_class class, uint64_t id,
			   struct jfr_cursor *c);
