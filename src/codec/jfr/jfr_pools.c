/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constants are sorted by id and position. If an id occurs twice, the first one in the chunk
 * counts.
 */
#include "codec/jfr/jfr_pools.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bisect.h"

enum { CHECKPOINT = 1 /* the class of checkpoint events */ };

static const char *const class_names[JFR_POOLS] = {
	[JFR_POOL_STACK] = "jdk.types.StackTrace",     [JFR_POOL_METHOD] = "jdk.types.Method",
	[JFR_POOL_CLASS] = "java.lang.Class",          [JFR_POOL_SYMBOL] = "jdk.types.Symbol",
	[JFR_POOL_FRAME_TYPE] = "jdk.types.FrameType", [JFR_POOL_STATE] = "jdk.types.ThreadState",
	[JFR_POOL_THREAD] = "java.lang.Thread",        [JFR_POOL_STRING] = "java.lang.String",
};

void jfr_pools_fini(struct jfr_pools *p)
{
	for (size_t i = 0; i < JFR_POOLS; i++)
		vec_fini(&p->pools[i].constants);
}

/* Reads the constants of one class. @pool is NULL if they are not needed. */
static int read_pool(struct jfr_pools *p, struct jfr_pool *pool, const struct jfr_types *t,
		     uint32_t class, struct jfr_cursor *c, size_t max)
{
	uint64_t n = jfr_varint(c);
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < n && !c->bad; i++) {
		uint64_t id = jfr_varint(c);

		if (pool && p->n++ == max)
			r = -EFBIG;
		else if (pool)
			r = vec_push(&pool->constants, (struct jfr_constant){ id, c->at });
		jfr_skip_value(t, class, c);
	}
	return r;
}

/* The cursor is at the event's payload. *@out_delta is the distance to the checkpoint before it. */
static int read_checkpoint(struct jfr_pools *p, const struct jfr_types *t,
			   const uint32_t classes[JFR_POOLS], struct jfr_cursor *c, size_t max,
			   int64_t *out_delta)
{
	uint64_t n_pools;
	int r = 0;

	jfr_varint(c); /* start time */
	jfr_varint(c); /* duration */
	*out_delta = (int64_t)jfr_varint(c);
	jfr_byte(c); /* kind of checkpoint */
	n_pools = jfr_varint(c);
	for (uint64_t i = 0; r == 0 && i < n_pools && !c->bad; i++) {
		uint32_t class = jfr_class_by_id(t, jfr_varint(c));
		struct jfr_pool *pool = NULL;

		for (size_t k = 0; k < JFR_POOLS; k++)
			if (class != JFR_NO_CLASS && classes[k] == class)
				pool = &p->pools[k];
		r = read_pool(p, pool, t, class, c, max);
	}
	return r < 0 ? r : c->bad ? -EBADMSG : 0;
}

static int compare_constants(const void *a, const void *b)
{
	const struct jfr_constant *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static void sort_pools(struct jfr_pools *p)
{
	for (size_t i = 0; i < JFR_POOLS; i++)
		if (p->pools[i].constants.len)
			qsort(p->pools[i].constants.data, p->pools[i].constants.len,
			      sizeof(struct jfr_constant), compare_constants);
}

/*
 * Each checkpoint must be before the one that was read before it, so the list ends. The event's own
 * length limits what is read.
 */
int jfr_pools_read(struct jfr_pools *p, const struct jfr_types *t, struct jfr_cursor *c, size_t at,
		   size_t max)
{
	uint32_t classes[JFR_POOLS];
	size_t end = c->end;
	int64_t delta = 0;
	int r;

	for (size_t i = 0; i < JFR_POOLS; i++)
		classes[i] = jfr_class_by_name(t, class_names[i]);
	do {
		uint64_t len;

		c->at = at;
		c->end = end;
		len = at < end ? jfr_varint(c) : 0;
		if (!len || len > end - at || jfr_varint(c) != CHECKPOINT)
			return -EBADMSG;
		c->end = at + len;
		r = read_checkpoint(p, t, classes, c, max, &delta);
		if (r < 0)
			return r;
		if (delta > 0 || 0 - (uint64_t)delta > at)
			return -EBADMSG;
		at += (uint64_t)delta;
	} while (delta);
	c->end = end;
	sort_pools(p);
	return 0;
}

uint32_t jfr_constant(const struct jfr_pools *p, enum jfr_pool_class class, uint64_t id)
{
	const struct jfr_constant *all = p->pools[class].constants.data;
	size_t n = p->pools[class].constants.len;
	size_t k = bisect(n, i, all[i].id < id);

	return k < n && all[k].id == id ? (uint32_t)k : JFR_NO_CONSTANT;
}

size_t jfr_pool_len(const struct jfr_pools *p, enum jfr_pool_class class)
{
	return p->pools[class].constants.len;
}

uint32_t jfr_constant_seek(const struct jfr_pools *p, enum jfr_pool_class class, uint64_t id,
			   struct jfr_cursor *c)
{
	uint32_t i = jfr_constant(p, class, id);

	if (i != JFR_NO_CONSTANT)
		c->at = p->pools[class].constants.data[i].at;
	return i;
}
