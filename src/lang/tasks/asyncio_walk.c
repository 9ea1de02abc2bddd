/* SPDX-License-Identifier: Apache-2.0 */
#include "lang/tasks/asyncio_walk.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "lang/tasks/asyncio_frames.h"
#include "lang/tasks/asyncio_layout.h"
#include "lang/tasks/python_objects.h"
#include "lang/tasks/task_pages.h"

enum {
	STACK_BYTES_MAX = 1 << 20,
	TAG = 7,      /* bits of a reference that do not belong to the address (3.14) */
	YIELDED = -2, /* from 3.13 on; higher values below 0 mean that it awaits */
};

/* ---- a coroutine ----------------------------------------------------------------------------- */

static enum asyncio_state state_of(const struct asyncio_layout *l, int8_t state)
{
	if (state > 0)
		return ASYNCIO_FINISHED;
	if (state == 0)
		return ASYNCIO_RUNNING;
	return state == l->created ? ASYNCIO_CREATED : ASYNCIO_SUSPENDED;
}

/* Reads the state of a coroutine up to 3.10. It has a frame, and its place was read. */
static int read_old_state(struct asyncio_frames *f, uint64_t addr, struct asyncio_coroutine *out)
{
	const struct asyncio_layout *l = f->layout;
	bool is_39 = l->py.minor == 9;
	int8_t state = 0;
	int r = task_pages_read(f->objects->pages, (is_39 ? addr : out->frame) + l->generator_state,
				&state, 1);

	/* 3.9 only records that it runs, and its place is -1 before it begins */
	if (is_39 && !state)
		out->state = out->at > INT32_MAX ? ASYNCIO_CREATED : ASYNCIO_SUSPENDED;
	else
		out->state = is_39 ? ASYNCIO_RUNNING : state_of(l, state);
	return r;
}

static int read_state(struct asyncio_frames *f, uint64_t addr, struct asyncio_coroutine *out)
{
	int8_t state = 0;
	int r;

	out->frame = addr + f->layout->generator_frame;
	r = task_pages_read(f->objects->pages, addr + f->layout->generator_state, &state, 1);
	out->state = state_of(f->layout, state);
	out->yields = f->layout->py.minor >= 13 && state == YIELDED;
	return r;
}

static int read_place(struct asyncio_frames *f, struct asyncio_coroutine *out)
{
	const struct python_vm *py = &f->layout->py;
	uint32_t index;
	int r = task_pages_word(f->objects->pages, out->frame + py->frame_code, &out->code);

	out->code &= ~(uint64_t)TAG;
	if (r < 0 || py->place_is_addr)
		return r < 0 ? r
			     : task_pages_word(f->objects->pages, out->frame + py->frame_place,
					       &out->at);
	r = task_pages_read(f->objects->pages, out->frame + py->frame_place, &index, sizeof(index));
	out->at = index;
	return r;
}

/* Finds the address after the last object of a suspended frame; 0 if it has none. */
static int find_top(struct asyncio_frames *f, const struct asyncio_coroutine *c, uint64_t *out)
{
	const struct asyncio_layout *l = f->layout;
	struct task_pages *p = f->objects->pages;
	uint64_t first = c->frame + l->frame_locals;
	int32_t n = 0;
	int r;

	if (l->stack == ASYNCIO_STACK_POINTER)
		return task_pages_word(p, c->frame + l->frame_stack, out);
	r = task_pages_read(p, c->frame + l->frame_stack, &n, sizeof(n));
	if (r == 0 && l->stack == ASYNCIO_STACK_DEPTH)
		r = task_pages_word(p, c->frame + l->frame_values, &first);
	*out = n > 0 && n < STACK_BYTES_MAX / 8 ? first + 8 * (uint64_t)n : 0;
	return r;
}

/* Up to 3.10, a coroutine without a frame has finished. */
static int read_old(struct asyncio_frames *f, uint64_t addr, struct asyncio_coroutine *out)
{
	int r = task_pages_word(f->objects->pages, addr + f->layout->generator_frame, &out->frame);

	out->state = ASYNCIO_FINISHED;
	if (r < 0 || !out->frame)
		return r;
	r = read_place(f, out);
	return r < 0 ? r : read_old_state(f, addr, out);
}

int asyncio_coroutine_read(struct asyncio_frames *f, uint64_t addr, struct asyncio_coroutine *out)
{
	int r;

	*out = (struct asyncio_coroutine){ 0 };
	if (f->layout->has_own_frames)
		return read_old(f, addr, out);
	r = read_state(f, addr, out);
	if (r == 0 && out->state != ASYNCIO_FINISHED)
		r = read_place(f, out);
	return r;
}

/* ---- the chain ------------------------------------------------------------------------------- */

struct walk {
	struct asyncio_frames *f;
	struct asyncio_chain *out;
};

/* The object on top of a suspended frame; 0 if there is none. */
static int top_object(struct asyncio_frames *f, const struct asyncio_coroutine *c, uint64_t *out)
{
	uint64_t top;
	int r = find_top(f, c, &top);

	*out = 0;
	if (r < 0 || !top || top % 8)
		return r;
	r = task_pages_word(f->objects->pages, top - 8, out);
	*out &= ~(uint64_t)TAG;
	return r;
}

/* Notes what the call that was followed last waits for; the next one replaces it. */
static void note_call(struct walk *w, const struct asyncio_coroutine *c,
		      const struct asyncio_place *place)
{
	struct asyncio_chain *out = w->out;

	out->position = c->at;
	out->wait = place->wait;
	out->wake = place->wake;
	memcpy(out->text, place->text, sizeof(out->text));
	if (task_pages_word(w->f->objects->pages, c->frame + w->f->layout->frame_locals,
			    &out->object) < 0)
		out->object = 0;
	out->object &= ~(uint64_t)TAG;
}

/*
 * Adds the frame of a coroutine; *@next is what it awaits, or 0. The objects of a frame are in
 * memory only while it is suspended.
 */
static int follow(struct walk *w, const struct asyncio_coroutine *c, uint64_t *next)
{
	const struct asyncio_place *place;
	int r;

	*next = 0;
	if (c->state == ASYNCIO_FINISHED)
		return 0;
	r = asyncio_frames_get(w->f, c->code, c->at, &place);
	if (r < 0)
		return r;
	w->out->frames[w->out->n++] = place->frame;
	note_call(w, c, place);
	if (c->state != ASYNCIO_SUSPENDED || c->yields || !place->awaits)
		return 0;
	return top_object(w->f, c, next);
}

/* Handles the object at *@addr, and stores the next one; *@addr is 0 at the end of the chain. */
static int step(struct walk *w, uint64_t *addr)
{
	struct python_objects *o = w->f->objects;
	struct asyncio_coroutine c;
	uint64_t at = *addr;
	int r;

	switch (python_kind_of(o, at)) {
	case PYTHON_COROUTINE:
	case PYTHON_GENERATOR:
	case PYTHON_ASYNC_GENERATOR:
		r = asyncio_coroutine_read(w->f, at, &c);
		return r < 0 ? r : follow(w, &c, addr);
	case PYTHON_AWAITABLE:
		return python_field(o, at, 0, addr);
	case PYTHON_FUTURE_ITERATOR:
		*addr = 0;
		return python_field(o, at, 0, &w->out->future);
	default:
		*addr = 0;
		return 0;
	}
}

int asyncio_walk(struct asyncio_frames *f, uint64_t addr, const struct asyncio_coroutine *first,
		 struct asyncio_chain *out)
{
	struct walk w = { f, out };
	uint32_t n_steps = 1;
	int r;

	/* the frames are not cleared, which would cost more than most walks */
	memset((char *)out + offsetof(struct asyncio_chain, n), 0,
	       sizeof(*out) - offsetof(struct asyncio_chain, n));
	r = follow(&w, first, &addr);
	while (r == 0 && addr && out->n < TASK_FRAMES_MAX && n_steps++ < 2 * TASK_FRAMES_MAX)
		r = step(&w, &addr);
	out->is_cut = r < 0 || addr != 0;
	return r == -ETIME || r == -ENOMEM ? r : 0;
}
