/* SPDX-License-Identifier: Apache-2.0 */
/*
 * While events are read, a begin and its end become one call, by a chain of the calls that are
 * open in the thread. All calls are then sorted by thread and start, outer ones first: of two
 * calls with the same start and end, the outer one is the one written last, as programs write an
 * event when it ends. One pass over the sorted calls, with a stack of those that are open, gives
 * the time spent in each stack.
 *
 * Memory is in proportion to the number of events, which is limited like samples. Sorting is done
 * once, so the time is n log n whatever the order of events in the file; only the pairing of B and
 * E depends on the order of events, because the format defines it by order.
 */
#include "codec/chrome/chrome.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/vec.h"
#include "codec/common/frame_kind.h"
#include "codec/common/json_profile.h"

enum { NONE = -1, NS_PER_US = 1000, MAX_CAT = 32, MAX_ID = 32 };

/*
 * Times beyond this (73 years) are refused, so that no difference or sum of two of them overflows.
 */
static const int64_t MAX_TIME = INT64_MAX / 4;

/* A call. The end of one that began with B is set when its E is read. */
struct call {
	uint32_t thread, location;
	int64_t start, end; /* ns */
	size_t written;     /* position of its last event in the file */
	int64_t outer;      /* the enclosing open call, or NONE */
};

/* A call that is open during the final pass. */
struct level {
	uint32_t location;
	int64_t end;
};

/* The calls that are open in a thread are linked from open outwards by their member outer. */
struct thread {
	struct json_thread who;
	int64_t open; /* the innermost call that has begun and not ended, or NONE */
	int64_t last; /* latest time seen */
};

struct process {
	int64_t pid;
	uint32_t name;
};

/* The event being read. */
struct event {
	char ph[4], cat[MAX_CAT];
	struct json_frame frame;
	uint32_t arg_name;
	double ts, dur; /* microseconds */
	int64_t pid, tid;
};

struct reader {
	struct json_profile jp;
	struct event event;
	bool has_events;
	size_t n_events, n_others, n_unmatched, n_truncated;
	struct {
		VEC(struct call);
	} calls;
	struct {
		VEC(struct thread);
	} threads;
	struct index by_thread;
	struct {
		VEC(struct process);
	} processes;
	struct {
		VEC(struct level);
	} levels;
	struct json_ids stack;
};

static void reader_fini(struct reader *rd)
{
	json_profile_fini(&rd->jp);
	vec_fini(&rd->calls);
	vec_fini(&rd->threads);
	index_fini(&rd->by_thread);
	vec_fini(&rd->processes);
	vec_fini(&rd->levels);
	vec_fini(&rd->stack);
}

/* ---- events ------------------------------------------------------------------- */

/*
 * Cameo writes file and line as arguments, and names of processes and threads are arguments of
 * metadata events. Arguments of other programs with these names and types are read in the same way.
 */
static int read_arg(void *ctx, const char *key)
{
	struct reader *rd = ctx;
	struct event *e = &rd->event;
	int c = json_read_peek(&rd->jp.j);

	if (!strcmp(key, "name") && c == '"')
		return json_profile_string(&rd->jp, &e->arg_name);
	if (!strcmp(key, "file") && c == '"')
		return json_profile_string(&rd->jp, &e->frame.file);
	if (!strcmp(key, "line") && c == 0)
		return json_profile_int(&rd->jp, &e->frame.line);
	return json_profile_skip(&rd->jp);
}

/*
 * Reads the id of a process or thread: usually a number, but some programs write names. A name is
 * hashed to a number of 31 bits. Two names with the same hash share a row and thus a label, which
 * is the only harm.
 */
static int read_id(struct reader *rd, int64_t *out)
{
	char text[MAX_ID], *end;
	int r;

	if (json_read_peek(&rd->jp.j) != '"')
		return json_profile_int(&rd->jp, out);
	r = json_profile_text(&rd->jp, text, sizeof(text));
	if (r < 0)
		return r;
	*out = strtoll(text, &end, 10);
	if (*end)
		*out = (int64_t)(XXH3_64bits(text, strlen(text)) & INT32_MAX);
	return 0;
}

static int read_event_member(void *ctx, const char *key)
{
	struct reader *rd = ctx;
	struct json_profile *jp = &rd->jp;
	struct event *e = &rd->event;
	int c = json_read_peek(&jp->j);

	if (!strcmp(key, "ph") && c == '"')
		return json_profile_text(jp, e->ph, sizeof(e->ph));
	if (!strcmp(key, "name") && c == '"')
		return json_profile_string(jp, &e->frame.name);
	if (!strcmp(key, "cat") && c == '"')
		return json_profile_text(jp, e->cat, sizeof(e->cat));
	if (!strcmp(key, "ts") && c == 0)
		return json_profile_number(jp, &e->ts);
	if (!strcmp(key, "dur") && c == 0)
		return json_profile_number(jp, &e->dur);
	if (!strcmp(key, "pid"))
		return read_id(rd, &e->pid);
	if (!strcmp(key, "tid"))
		return read_id(rd, &e->tid);
	if (!strcmp(key, "args") && c == '{')
		return json_profile_members(jp, read_arg, rd);
	return json_profile_skip(jp);
}

struct thread_key {
	const struct reader *rd;
	int64_t pid, tid;
};

static bool thread_eq(const void *ctx, uint32_t id)
{
	const struct thread_key *k = ctx;
	const struct json_thread *have = &k->rd->threads.data[id].who;

	return have->pid == k->pid && have->tid == k->tid;
}

/*
 * Finds or adds the thread of the current event. The hash is not seeded, so a file can cause
 * collisions; the limits of the file's size bound the time that they cost.
 */
static int find_thread(struct reader *rd, uint32_t *out)
{
	const struct event *e = &rd->event;
	const struct thread_key key = { rd, e->pid, e->tid };
	const struct thread t = { .who = { .pid = e->pid, .tid = e->tid }, .open = NONE };
	uint32_t hash = hash_u64((uint64_t)e->pid << 32 ^ (uint64_t)e->tid);

	if (index_find(&rd->by_thread, hash, thread_eq, &key, out))
		return 0;
	*out = (uint32_t)rd->threads.len;
	if (vec_push(&rd->threads, t) < 0 || index_add(&rd->by_thread, hash, *out) < 0)
		return json_profile_no_memory(&rd->jp);
	return 0;
}

/*
 * Reads a metadata event. Processes are only collected here, because their names may follow the
 * threads; label_threads() joins them.
 */
static int read_name(struct reader *rd)
{
	const struct event *e = &rd->event;
	const char *kind = profile_string(rd->jp.p, e->frame.name);
	const struct process process = { e->pid, e->arg_name };
	uint32_t id;
	int r;

	if (!strcmp(kind, "process_name"))
		return json_profile_check(&rd->jp, vec_push(&rd->processes, process));
	if (strcmp(kind, "thread_name") != 0)
		return 0;
	r = find_thread(rd, &id);
	if (r == 0)
		rd->threads.data[id].who.name = e->arg_name;
	return r;
}

/* Converts to nanoseconds, in a range in which differences do not overflow. */
static int time_of(struct reader *rd, double us, int64_t *out)
{
	int r = json_profile_round(&rd->jp, us * NS_PER_US, out);

	if (r == 0 && (*out > MAX_TIME || *out < -MAX_TIME))
		r = err_set(rd->jp.err, -EBADMSG, "event %zu: time is out of range",
			    rd->n_events - 1);
	return r;
}

/*
 * Adds the call of an X or B event. Its end is known for X and, for B, provisional until the E
 * event.
 */
static int begin_call(struct reader *rd, struct thread *t, struct call *c)
{
	struct event *e = &rd->event;
	int r;

	r = json_profile_check_limit(&rd->jp, rd->calls.len, rd->jp.limits.samples, "events");
	if (r < 0)
		return r;
	e->frame.mapping = PROFILE_NONE;
	e->frame.kind = frame_kind_from_label(e->cat);
	r = json_profile_add_frame(&rd->jp, &e->frame, &c->location);
	if (r < 0)
		return r;
	c->outer = t->open;
	if (e->ph[0] == 'B')
		t->open = (int64_t)rd->calls.len;
	return json_profile_check(&rd->jp, vec_push(&rd->calls, *c));
}

/*
 * Ends the innermost call that has begun. The name of an E event is ignored, because the format
 * makes it optional.
 */
static void end_call(struct reader *rd, struct thread *t, int64_t end)
{
	struct call *c;

	if (t->open == NONE) {
		rd->n_unmatched++;
		return;
	}
	c = &rd->calls.data[t->open];
	c->end = end;
	c->written = rd->n_events;
	t->open = c->outer;
}

/* Times of every event advance the thread's last time, at which calls without an end are closed. */
static int add_call(struct reader *rd)
{
	struct call c = { .written = rd->n_events };
	struct thread *t;
	int r = find_thread(rd, &c.thread);

	if (r == 0)
		r = time_of(rd, rd->event.ts, &c.start);
	if (r == 0)
		r = time_of(rd, rd->event.ts + rd->event.dur, &c.end);
	if (r < 0)
		return r;
	t = &rd->threads.data[c.thread];
	if (c.end > t->last)
		t->last = c.end;
	if (rd->event.ph[0] != 'E')
		return begin_call(rd, t, &c);
	end_call(rd, t, c.start);
	return 0;
}

static int read_event(void *ctx)
{
	struct reader *rd = ctx;
	int r;

	rd->event = (struct event){ 0 };
	r = json_profile_members(&rd->jp, read_event_member, rd);
	if (r < 0)
		return r;
	rd->n_events++;
	if (!strcmp(rd->event.ph, "M"))
		return read_name(rd);
	if (strlen(rd->event.ph) == 1 && strchr("XBE", rd->event.ph[0]))
		return add_call(rd);
	rd->n_others++;
	return 0;
}

/* A second member of that name is skipped; JSON does not define which one counts. */
static int find_events(void *ctx, const char *key)
{
	struct reader *rd = ctx;

	if (strcmp(key, "traceEvents") != 0 || rd->has_events)
		return json_profile_skip(&rd->jp);
	rd->has_events = true;
	return json_profile_items(&rd->jp, read_event, rd);
}

/* ---- stacks ------------------------------------------------------------------- */

/* Calls without an end last until the latest time of their thread. */
static void end_open_calls(struct reader *rd)
{
	for (size_t i = 0; i < rd->threads.len; i++) {
		struct thread *t = &rd->threads.data[i];

		while (t->open != NONE) {
			rd->n_unmatched++;
			rd->n_events++;
			end_call(rd, t, t->last);
		}
	}
}

/*
 * Orders calls so that an outer call precedes the calls that it contains: by start, then the longer
 * one first, then the one that was written last.
 */
static int by_time(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return (x->written < y->written) - (x->written > y->written);
}

static int by_pid(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static uint32_t process_name(const struct reader *rd, int64_t pid)
{
	const struct process key = { .pid = pid }, *found = NULL;

	if (rd->processes.len)
		found = bsearch(&key, rd->processes.data, rd->processes.len,
				sizeof(*rd->processes.data), by_pid);
	return found ? found->name : 0;
}

static int label_threads(struct reader *rd)
{
	int r = 0;

	if (rd->processes.len)
		qsort(rd->processes.data, rd->processes.len, sizeof(*rd->processes.data), by_pid);
	for (size_t i = 0; r == 0 && i < rd->threads.len; i++) {
		struct json_thread *who = &rd->threads.data[i].who;

		who->process = process_name(rd, who->pid);
		r = json_profile_label_thread(&rd->jp, who);
	}
	return r;
}

/*
 * Adds @ns to the current stack. The profile merges equal stacks, so the number of samples is that
 * of distinct stacks per thread.
 */
static int add_time(struct reader *rd, const struct thread *t, int64_t ns)
{
	struct profile_sample s = {
		.labels = t->who.labels,
		.n_labels = t->who.n_labels,
		.values = &ns,
	};
	int r;

	if (ns <= 0 || !rd->stack.len)
		return 0;
	r = json_profile_add_stack(&rd->jp, &rd->stack, &s.stack);
	return r < 0 ? r : json_profile_add_sample(&rd->jp, &s);
}

/*
 * Advances from *@now to @to, ending the calls that end before. The time between the ends of nested
 * calls belongs to the stack that is open then.
 */
static int advance(struct reader *rd, const struct thread *t, int64_t *now, int64_t to)
{
	int r = 0;

	while (r == 0 && rd->levels.len && rd->levels.data[rd->levels.len - 1].end <= to) {
		int64_t end = rd->levels.data[rd->levels.len - 1].end;

		r = add_time(rd, t, end - *now);
		*now = end > *now ? end : *now;
		rd->levels.len--;
		rd->stack.len--;
	}
	if (r == 0)
		r = add_time(rd, t, to - *now);
	*now = to;
	return r;
}

/*
 * Pushes a call. Its end is cut to that of the enclosing call, which keeps the ends on the stack
 * descending; advance() relies on that order.
 */
static int enter(struct reader *rd, const struct call *c)
{
	struct level level = { c->location, c->end };

	if (rd->levels.len == rd->jp.limits.depth)
		return err_set(rd->jp.err, -EFBIG, "calls are nested more than %u deep",
			       rd->jp.limits.depth);
	if (rd->levels.len && rd->levels.data[rd->levels.len - 1].end < c->end) {
		level.end = rd->levels.data[rd->levels.len - 1].end;
		rd->n_truncated += c->end - level.end > NS_PER_US;
	}
	if (vec_push(&rd->levels, level) < 0 || vec_push(&rd->stack, c->location) < 0)
		return json_profile_no_memory(&rd->jp);
	return 0;
}

static int add_samples(struct reader *rd)
{
	int64_t now = 0;
	int r = 0;

	if (rd->calls.len)
		qsort(rd->calls.data, rd->calls.len, sizeof(*rd->calls.data), by_time);
	for (size_t i = 0; r == 0 && i < rd->calls.len; i++) {
		const struct call *c = &rd->calls.data[i];
		const struct thread *t = &rd->threads.data[c->thread];
		bool last = i + 1 == rd->calls.len || c[1].thread != c->thread;

		if (!rd->levels.len)
			now = c->start;
		r = advance(rd, t, &now, c->start);
		if (r == 0)
			r = enter(rd, c);
		if (r == 0 && last)
			r = advance(rd, t, &now, rd->levels.data[0].end);
	}
	return r;
}

/* Reports what could not be represented as a comment of the profile. */
static int add_comment(struct reader *rd, size_t n, const char *text_after)
{
	char text[96];

	if (!n)
		return 0;
	snprintf(text, sizeof(text), "%zu %s", n, text_after);
	return json_profile_check(&rd->jp, profile_add_comment(rd->jp.p, text));
}

static int build_profile(struct reader *rd)
{
	int r;

	if (profile_add_sample_type(rd->jp.p, "wall", "nanoseconds") < 0)
		return json_profile_no_memory(&rd->jp);
	end_open_calls(rd);
	r = label_threads(rd);
	if (r == 0)
		r = add_samples(rd);
	if (r == 0)
		r = add_comment(rd, rd->n_others, "events of the trace are not calls");
	if (r == 0)
		r = add_comment(rd, rd->n_unmatched,
				"events of the trace have no matching begin or end");
	return r < 0 ? r
		     : add_comment(rd, rd->n_truncated,
				   "events end after the enclosing one and were truncated");
}

int chrome_read(struct profile **out, const void *data, size_t len,
		const struct codec_limits *limits, struct err *err)
{
	_cleanup_(reader_fini) struct reader rd = { 0 };
	int r = json_profile_init(&rd.jp, len, limits, "Chrome trace", err);

	if (r == 0 && json_profile_is_array(data, len)) {
		rd.has_events = true;
		r = json_profile_read_array(&rd.jp, data, len, read_event, &rd);
	} else if (r == 0) {
		r = json_profile_read_object(&rd.jp, data, len, find_events, &rd);
	}
	if (r == 0 && !rd.has_events)
		r = err_set(err, -EBADMSG, "not a Chrome trace: no \"traceEvents\" array");
	if (r == 0)
		r = build_profile(&rd);
	if (r < 0)
		return r;
	*out = steal_ptr(&rd.jp.p);
	return 0;
}
