/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From 3.13 on, the state of a coroutine records that it awaits an object. Before, that depends on
 * the instruction at which it is suspended.
 */
#include "lang/tasks/asyncio_frames.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "lang/python/python.h"
#include "lang/question.h"
#include "lang/tasks/asyncio_layout.h"
#include "lang/tasks/python_objects.h"
#include "lang/tasks/task_pages.h"
#include "lang/tasks/task_snapshot.h"
#include "profile/profile.h"

enum {
	YIELD_FROM_39 = 72, /* the operation, up to 3.10 */
	RESUME_AWAITS = 2,  /* 3.11, 3.12: the lowest argument of RESUME after yield from */
	RESUME_MAX = 3,
};

/* ---- what functions of asyncio wait for ------------------------------------------------------ */

struct known_wait {
	const char *file, *function; /* in asyncio/; the last component of its name */
	const char *text;            /* NULL: the function is a method of the object */
	uint8_t wake;
};

/* A lock is released and a group ended by a task; events and queues are also used by callbacks. */
static const struct known_wait known[] = {
	{ "tasks.py", "sleep", "sleep", TASK_WAKE_EVENT },
	{ "tasks.py", "wait_for", "wait_for", TASK_WAKE_EVENT },
	{ "tasks.py", "_wait", "wait", TASK_WAKE_UNKNOWN },
	{ "tasks.py", "_wait_for_one", "as_completed", TASK_WAKE_UNKNOWN },
	{ "taskgroups.py", "__aexit__", "TaskGroup", TASK_WAKE_TASK },
	{ "taskgroups.py", "_aexit", "TaskGroup", TASK_WAKE_TASK },
	{ "threads.py", "to_thread", "thread", TASK_WAKE_EVENT },
	{ "futures.py", "__await__", NULL, TASK_WAKE_UNKNOWN },
	{ "locks.py", "acquire", NULL, TASK_WAKE_UNKNOWN },
	{ "locks.py", "wait", NULL, TASK_WAKE_UNKNOWN },
	{ "locks.py", "wait_for", NULL, TASK_WAKE_UNKNOWN },
	{ "locks.py", "_block", NULL, TASK_WAKE_UNKNOWN },
	{ "locks.py", "_wait", NULL, TASK_WAKE_UNKNOWN },
	{ "queues.py", "get", NULL, TASK_WAKE_UNKNOWN },
	{ "queues.py", "put", NULL, TASK_WAKE_UNKNOWN },
	{ "queues.py", "join", NULL, TASK_WAKE_UNKNOWN },
	{ "streams.py", "_wait_for_data", "stream read", TASK_WAKE_EVENT },
	{ "streams.py", "_drain_helper", "stream write", TASK_WAKE_EVENT },
	{ "base_events.py", "serve_forever", "serve_forever", TASK_WAKE_EVENT },
	{ "base_events.py", "getaddrinfo", "getaddrinfo", TASK_WAKE_EVENT },
	{ "base_subprocess.py", "_wait", "process", TASK_WAKE_EVENT },
	{ "selector_events.py", "sock_recv", "socket receive", TASK_WAKE_EVENT },
	{ "selector_events.py", "sock_recv_into", "socket receive", TASK_WAKE_EVENT },
	{ "selector_events.py", "sock_recvfrom", "socket receive", TASK_WAKE_EVENT },
	{ "selector_events.py", "sock_sendall", "socket send", TASK_WAKE_EVENT },
	{ "selector_events.py", "sock_accept", "socket accept", TASK_WAKE_EVENT },
	{ "selector_events.py", "sock_connect", "socket connect", TASK_WAKE_EVENT },
};

static const char *last_part(const char *name, char separator)
{
	const char *at = strrchr(name, separator);

	return at ? at + 1 : name;
}

static void find_wait(const char *function, const char *file, struct asyncio_place *out)
{
	const char *name = last_part(function, '.'), *base = last_part(file, '/');
	size_t dir = (size_t)(base - file);

	if (dir < 9 || strncmp(base - 9, "/asyncio/", 9) != 0)
		return;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const struct known_wait *k = &known[i];

		if (strcmp(k->function, name) != 0 || strcmp(k->file, base) != 0)
			continue;
		out->wait = k->text ? ASYNCIO_WAIT_NAMED : ASYNCIO_WAIT_OBJECT;
		out->wake = k->wake;
		snprintf(out->text, sizeof(out->text), "%s", k->text ? k->text : name);
		return;
	}
}

/* ---- a place --------------------------------------------------------------------------------- */

static int read_pages(void *ctx, uint64_t addr, void *dst, size_t len)
{
	return task_pages_read(ctx, addr, dst, len);
}

/* Returns whether the coroutine is suspended by an await; it is not if it yields an object. */
static bool awaits_at(struct asyncio_frames *f, uint64_t code, uint64_t at)
{
	const struct asyncio_layout *l = f->layout;
	uint8_t unit[2] = { 0 };
	uint64_t bytes;

	if (l->py.minor >= 13)
		return true;
	if (l->py.minor >= 11)
		return task_pages_read(f->objects->pages, at + 2, unit, sizeof(unit)) == 0 &&
		       unit[1] >= RESUME_AWAITS && unit[1] <= RESUME_MAX;
	if (at > INT32_MAX || task_pages_word(f->objects->pages, code + l->code_bytes, &bytes) < 0)
		return false;
	at = l->py.minor == 10 ? 2 * at + 2 : at + 2;
	return task_pages_read(f->objects->pages, bytes + l->py.object + PYTHON_BYTES_DATA + at,
			       unit, sizeof(unit)) == 0 &&
	       unit[0] == YIELD_FROM_39;
}

static bool is_library(const struct asyncio_frames *f, const char *file)
{
	size_t len = strlen(f->directory);

	return len && !strncmp(file, f->directory, len) && !strstr(file, "/site-packages/") &&
	       !strstr(file, "/dist-packages/");
}

static int intern_frame(struct asyncio_frames *f, const struct lang_function *fn, uint32_t line,
			uint32_t *out)
{
	struct task_frame frame = {
		.line = line,
		.kind = PROFILE_FRAME_PYTHON,
		.is_library = is_library(f, fn->file),
	};
	int r = task_snapshot_string(f->out, fn->name, strlen(fn->name), &frame.function);

	if (r == 0)
		r = task_snapshot_string(f->out, fn->file, strlen(fn->file), &frame.file);
	return r < 0 ? r : task_snapshot_frame(f->out, &frame, out);
}

/* The place as python_line() expects it. */
static uint32_t position_of(const struct asyncio_layout *l, uint64_t code, uint64_t at)
{
	return l->py.place_is_addr ? (uint32_t)(at - code) : (uint32_t)at;
}

static int read_place(struct asyncio_frames *f, struct asyncio_place *place)
{
	struct python_vm py = f->layout->py;
	const struct vm_tables tables = { .python = &py };
	const struct lang_process p = { .read = read_pages, .ctx = f->objects->pages };
	struct lang_function fn = { 0 };
	int r = python_read(&tables, 0, &p, place->code, 0, &fn);

	if (r == 0)
		r = intern_frame(f, &fn,
				 python_line(&fn, position_of(f->layout, place->code, place->at)),
				 &place->frame);
	if (r == 0) {
		place->awaits = awaits_at(f, place->code, place->at);
		find_wait(fn.name, fn.file, place);
	}
	lang_function_fini(&fn);
	if (task_memory_is_late(f->objects->pages->memory))
		return -ETIME;
	return r == -ESTALE ? -EBADMSG : r;
}

/* ---- the table ------------------------------------------------------------------------------- */

struct place_key {
	const struct asyncio_frames *f;
	uint64_t words[2];
};

static bool is_place(const void *ctx, uint32_t id)
{
	const struct place_key *k = ctx;
	const struct asyncio_place *p = &k->f->places.data[id];

	return p->code == k->words[0] && p->at == k->words[1];
}

void asyncio_frames_fini(struct asyncio_frames *f)
{
	vec_fini(&f->places);
	index_fini(&f->index);
}

/* Reads the place and adds it. */
static int add_place(struct asyncio_frames *f, const struct place_key *k, uint32_t hash,
		     uint32_t *out)
{
	struct asyncio_place place = { .code = k->words[0], .at = k->words[1] };
	int r;

	if (f->places.len == ASYNCIO_PLACES_MAX)
		return -EBADMSG;
	r = read_place(f, &place);
	if (r == 0)
		r = vec_push(&f->places, place);
	if (r < 0)
		return r;
	*out = (uint32_t)f->places.len - 1;
	return index_add(&f->index, hash, *out);
}

/* Most tasks have the same places as the one before. */
static bool find_recent(const struct asyncio_frames *f, const struct place_key *k, uint32_t *out)
{
	for (size_t i = 0; i < 2; i++)
		if (f->last[i] < f->places.len && is_place(k, f->last[i])) {
			*out = f->last[i];
			return true;
		}
	return false;
}

int asyncio_frames_get(struct asyncio_frames *f, uint64_t code, uint64_t at,
		       const struct asyncio_place **out)
{
	const struct place_key k = { f, { code, at } };
	uint32_t hash, id;
	int r = 0;

	if (!f->seed)
		f->seed = hash_seed() | 1;
	if (!find_recent(f, &k, &id)) {
		hash = hash_seeded(f->seed, k.words, sizeof(k.words));
		if (!index_find(&f->index, hash, is_place, &k, &id))
			r = add_place(f, &k, hash, &id);
		if (r < 0)
			return r;
		f->last[1] = f->last[0];
		f->last[0] = id;
	}
	*out = &f->places.data[id];
	return 0;
}
