/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One entry a thread that has been off: the stack of its last interval, how far
 * that has been counted, and how much of its time without stacks was told. The
 * kernel's side has the same thread in its own map and is the one that knows; what
 * was lost on the way between them is time without a stack.
 */
#include "agent/offcpu.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/index.h"
#include "base/vec.h"

/* Where a thread waits. */
struct place {
	/* waits of which one stands for others: what those that do told, and the kernel's sum of
	 * all */
	uint64_t told_ns, before_ns, now_ns;
	uint64_t alone_ns; /* those with a stack that stand for themselves */
	uint64_t left_ns; /* of which no stack was chosen, where there is only one that it can be */
	uint32_t stack;   /* hash of it, ever since; 0: none yet */
	bool has_more;    /* than that one stack */
};

struct waiter {
	struct collect_thread thread;
	uint64_t out_ns;                        /* of the interval whose stack is here; 0: none */
	uint64_t cut_ns;                        /* counted up to there; 0: not yet */
	bool is_over;                           /* it has been counted to its end */
	uint64_t untaken_ns, untaken_queued_ns; /* told so far */
	struct place places[OFF_PLACES];
	bool has_ended;
	uint64_t *words;
	uint32_t n_words, cap;
	uint32_t next_free;
};

struct offcpu {
	off_time_fn fn;
	void *ctx;
	struct {
		VEC(struct waiter);
	} waiters;
	struct index by_tid;
	uint32_t first_free; /* plus 1; 0: none */
	uint32_t n;
	size_t words_bytes;
};

struct tid_key {
	const struct offcpu *o;
	uint32_t tid;
};

const char *off_word_text(uint64_t why)
{
	return why == OFF_NEW_THREAD ? "[thread not started]" : "[stack not taken]";
}

const char *off_state_text(enum off_state state)
{
	static const char *const texts[OFF_STATE_MAX] = {
		[OFF_NONE] = "",
#define X(sym, label) [OFF_##sym] = label,
#include "bpf/shared/off_states.def"
#undef X
	};

	return state < OFF_STATE_MAX ? texts[state] : "";
}

int offcpu_new(struct offcpu **out, off_time_fn fn, void *ctx)
{
	struct offcpu *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	o->fn = fn;
	o->ctx = ctx;
	*out = o;
	return 0;
}

void offcpu_free(struct offcpu *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->waiters.len; i++)
		free(o->waiters.data[i].words);
	vec_fini(&o->waiters);
	index_fini(&o->by_tid);
	free(o);
}

/* ---- who waits ------------------------------------------------------------------ */

static bool same_tid(const void *ctx, uint32_t id)
{
	const struct tid_key *k = ctx;

	return k->o->waiters.data[id].thread.tid == k->tid;
}

static struct waiter *waiter_find(const struct offcpu *o, uint32_t tid, uint32_t *out_id)
{
	struct tid_key key = { o, tid };
	uint32_t id;

	if (!index_find(&o->by_tid, hash_u64(tid), same_tid, &key, &id))
		return NULL;
	if (out_id)
		*out_id = id;
	return &o->waiters.data[id];
}

static int waiter_new(struct offcpu *o, uint32_t tid, uint32_t *out_id)
{
	int r;

	if (o->first_free) {
		*out_id = o->first_free - 1;
	} else {
		*out_id = (uint32_t)o->waiters.len;
		r = vec_push(&o->waiters, (struct waiter){ 0 });
		if (r < 0)
			return r;
	}
	r = index_add(&o->by_tid, hash_u64(tid), *out_id);
	if (r < 0 && !o->first_free)
		o->waiters.len--;
	if (r < 0)
		return r;
	if (o->first_free)
		o->first_free = o->waiters.data[*out_id].next_free;
	o->waiters.data[*out_id] = (struct waiter){ .thread.tid = tid };
	o->n++;
	return 0;
}

void offcpu_forget(struct offcpu *o, uint32_t tid)
{
	uint32_t id;
	struct waiter *w = waiter_find(o, tid, &id);

	if (!w)
		return;
	index_remove(&o->by_tid, hash_u64(tid), id);
	o->words_bytes -= w->cap * sizeof(*w->words);
	free(w->words);
	*w = (struct waiter){ .next_free = o->first_free };
	o->first_free = id + 1;
	o->n--;
}

static struct waiter *waiter_get(struct offcpu *o, const struct collect_thread *thread)
{
	struct waiter *w = waiter_find(o, thread->tid, NULL);
	uint32_t id;

	/* another thread has got its number */
	if (w && w->has_ended) {
		offcpu_forget(o, thread->tid);
		w = NULL;
	}
	if (!w && waiter_new(o, thread->tid, &id) == 0)
		w = &o->waiters.data[id];
	if (w)
		w->thread = *thread;
	return w;
}

int offcpu_stack(struct offcpu *o, const struct collect_thread *thread, uint64_t out_ns,
		 const uint64_t *words, size_t n)
{
	struct waiter *w = waiter_get(o, thread);

	if (!w)
		return -ENOMEM;
	if (n > w->cap) {
		uint64_t *more = reallocarray(w->words, n, sizeof(*more));

		if (!more)
			return -ENOMEM;
		w->words = more;
		o->words_bytes += (n - w->cap) * sizeof(*more);
		w->cap = (uint32_t)n;
	}
	if (w->out_ns != out_ns) {
		w->cut_ns = 0;
		w->is_over = false;
	}
	if (n)
		memcpy(w->words, words, n * sizeof(*words));
	w->n_words = (uint32_t)n;
	w->out_ns = out_ns;
	return 0;
}

bool offcpu_knows(const struct offcpu *o, uint32_t tid)
{
	return waiter_find(o, tid, NULL) != NULL;
}

/* ---- counting --------------------------------------------------------------------- */

/* An interval, or the part of it that is counted now. */
struct part {
	const struct collect_thread *thread;
	const uint64_t *words;
	size_t n_words;
	enum off_state state;
	uint64_t from_ns, to_ns;
	uint64_t wake_ns; /* 0: it waits still */
	uint64_t weight;
	bool is_thinned, has_place;
	uint8_t place;
	bool is_new; /* nothing of the interval was counted before */
};

static void tell(struct offcpu *o, const struct part *p, enum off_state state, uint64_t ns,
		 uint64_t count)
{
	const uint64_t none =
		FRAME_WORD(FRAME_ERROR, state == OFF_NEW ? OFF_NEW_THREAD : OFF_NO_STACK);
	struct off_time t = {
		.thread = p->thread,
		.words = p->n_words ? p->words : &none,
		.n_words = p->n_words ? p->n_words : 1,
		.state = state,
		.ns = ns * p->weight,
		.count = count * p->weight,
		.is_thinned = p->is_thinned,
		.place_plus_1 = p->has_place ? p->place + 1 : 0,
	};

	if (ns || count)
		o->fn(o->ctx, &t);
}

/* What it waited, and what it waited for its turn. */
static void tell_part(struct offcpu *o, const struct part *p)
{
	uint64_t wake = p->wake_ns && p->wake_ns < p->to_ns ? p->wake_ns : p->to_ns;

	if (p->to_ns <= p->from_ns)
		return;
	if (p->state == OFF_PREEMPTED || p->state == OFF_NEW) {
		tell(o, p, p->state, p->to_ns - p->from_ns, p->is_new);
		return;
	}
	if (wake < p->from_ns)
		wake = p->from_ns;
	tell(o, p, p->state, wake - p->from_ns, p->is_new);
	tell(o, p, OFF_RUNNABLE, p->to_ns - wake, 0);
}

/* The interval of @w's stack; false: its stack is another's. */
static bool is_of(const struct waiter *w, uint64_t out_ns)
{
	return w && w->out_ns == out_ns;
}

/* What the kernel counted without stacks since it was last told. */
static void tell_untaken(struct offcpu *o, struct waiter *w, uint64_t ns, uint64_t queued_ns)
{
	struct part p = { .thread = &w->thread, .weight = 1 };

	if (ns > w->untaken_ns)
		tell(o, &p, OFF_SLEEPING, ns - w->untaken_ns, 1);
	if (queued_ns > w->untaken_queued_ns)
		tell(o, &p, OFF_RUNNABLE, queued_ns - w->untaken_queued_ns, 0);
	w->untaken_ns = ns;
	w->untaken_queued_ns = queued_ns;
}

/*
 * No stack of what was thinned in a place was chosen: the place's, if it has one alone and that was
 * told in this window, else it is time without one.
 */
static void settle(struct offcpu *o, struct waiter *w, const __u64 *thinned_ns)
{
	struct part rest = { .thread = &w->thread, .weight = 1 };
	uint64_t without = 0;

	for (size_t i = 0; i < OFF_PLACES; i++) {
		struct place *p = &w->places[i];

		p->now_ns = thinned_ns[i];
		if (p->told_ns || p->now_ns <= p->before_ns)
			continue;
		if (p->alone_ns && !p->has_more)
			p->left_ns += p->now_ns - p->before_ns;
		else
			without += p->now_ns - p->before_ns;
		p->before_ns = p->now_ns;
	}
	tell(o, &rest, OFF_SLEEPING, without, without != 0);
}

/* Its sums are kept until the window is over. */
void offcpu_last(struct offcpu *o, const struct off_last_record *r,
		 const struct collect_thread *thread)
{
	struct waiter *w = waiter_get(o, thread);

	if (!w)
		return;
	tell_untaken(o, w, r->untaken_ns, r->untaken_queued_ns);
	settle(o, w, r->thinned_ns);
	w->has_ended = true;
}

/* The stack of a wait that is over is the one of its thread. */
static void note_stack(struct waiter *w, const struct part *part)
{
	struct place *p = &w->places[part->place];
	uint32_t hash = hash_bytes(w->words, w->n_words * sizeof(*w->words));

	if (!hash)
		hash = 1;
	if (!part->is_thinned && part->to_ns > part->from_ns)
		p->alone_ns += part->to_ns - part->from_ns;
	p->has_more |= p->stack && p->stack != hash;
	p->stack = hash;
}

void offcpu_end(struct offcpu *o, const struct off_record *r, const struct collect_thread *thread)
{
	struct waiter *w = waiter_find(o, r->head.tid, NULL);
	struct part p = {
		.thread = thread,
		.state = r->head.off_state,
		.from_ns = r->head.time_ns,
		.to_ns = r->in_ns,
		.wake_ns = r->wake_ns,
		.weight = 1ULL << (r->head.off_shift & 31),
		.is_thinned = r->head.off_shift != 0,
		.has_place = true,
		.place = r->head.off_place & (OFF_PLACES - 1),
		.is_new = true,
	};

	if (p.is_thinned) {
		if (!w)
			w = waiter_get(o, thread);
		if (w)
			w->places[p.place].told_ns += (p.to_ns - p.from_ns) * p.weight;
	}
	if (is_of(w, p.from_ns)) {
		if (w->is_over)
			return;
		w->is_over = true;
		p.thread = &w->thread;
		p.words = w->words;
		p.n_words = w->n_words;
	}
	if (is_of(w, p.from_ns) && w->cut_ns) {
		p.from_ns = w->cut_ns;
		p.is_new = false;
	}
	if (p.n_words)
		note_stack(w, &p);
	else if (!p.is_thinned) /* what its place's only stack is made to be more is not its */
		p.has_place = false;
	tell_part(o, &p);
}

/* Is it known what an interval that is not over stands for: itself? */
static bool is_sure(const struct off_thread *t, uint64_t now_ns, bool is_last)
{
	bool is_told = t->chosen == OFF_CHOSEN || t->asked;

	if (!t->out_ns || t->out_ns >= now_ns)
		return false;
	return now_ns - t->out_ns >= OFF_LONG_NS || (is_told && (!t->shift || is_last));
}

/* It has waited so long already, and others stand for it. */
static uint64_t unsure_ns(const struct off_thread *t, uint64_t now_ns)
{
	return t->out_ns && t->out_ns < now_ns ? now_ns - t->out_ns : 0;
}

/* The interval that the thread is in is the waiter's. */
static void begin_interval(struct waiter *w, uint64_t out_ns)
{
	w->out_ns = out_ns;
	w->cut_ns = 0;
	w->is_over = false;
	w->n_words = 0;
}

/* Count the interval that is not over. */
static void cut_interval(struct offcpu *o, struct waiter *w, const struct off_thread *t,
			 uint64_t now_ns)
{
	struct part p = { .thread = &w->thread,
			  .state = t->state,
			  .to_ns = now_ns,
			  .wake_ns = t->wake_ns,
			  .weight = 1 };

	if (w->out_ns > t->out_ns) /* it has ended meanwhile, and was counted */
		return;
	if (w->out_ns < t->out_ns)
		begin_interval(w, t->out_ns);
	if (w->is_over)
		return;
	p.words = w->words;
	p.n_words = w->n_words;
	p.from_ns = w->cut_ns ? w->cut_ns : t->out_ns;
	p.is_new = !w->cut_ns;
	tell_part(o, &p);
	if (now_ns > p.from_ns)
		w->cut_ns = now_ns;
}

static bool has_thinned(const struct off_thread *t)
{
	uint64_t any = 0;

	for (size_t i = 0; i < OFF_PLACES; i++)
		any |= t->places[i].thinned_ns;
	return any != 0;
}

int offcpu_cut(struct offcpu *o, uint32_t tid, const struct off_thread *t,
	       const struct collect_thread *thread, uint64_t now_ns, bool is_last)
{
	struct waiter *w = waiter_find(o, tid, NULL);
	bool sure = is_sure(t, now_ns, is_last);
	__u64 thinned_ns[OFF_PLACES];

	for (size_t i = 0; i < OFF_PLACES; i++)
		thinned_ns[i] = t->places[i].thinned_ns;
	if (is_last && !sure)
		thinned_ns[t->place & (OFF_PLACES - 1)] += unsure_ns(t, now_ns);
	if (!w && (sure || t->untaken_ns || t->untaken_queued_ns || has_thinned(t)))
		w = waiter_get(o, thread);
	if (!w)
		return sure ? -ENOMEM : 0;
	tell_untaken(o, w, t->untaken_ns, t->untaken_queued_ns);
	settle(o, w, thinned_ns);
	if (sure)
		cut_interval(o, w, t, now_ns);
	return 0;
}

struct collect_scale offcpu_scale(const struct offcpu *o, const struct collect_thread *thread,
				  uint8_t place)
{
	const struct waiter *w = waiter_find(o, thread->tid, NULL);
	const struct place *p = w ? &w->places[place & (OFF_PLACES - 1)] : NULL;
	struct collect_scale scale = { 1, 1 };

	if (!w || w->thread.pid != thread->pid)
		return scale;
	if (p->told_ns && p->now_ns > p->before_ns)
		scale.thinned = (double)(p->now_ns - p->before_ns) / (double)p->told_ns;
	if (p->left_ns)
		scale.all = 1 + (double)p->left_ns / (double)p->alone_ns;
	return scale;
}

void offcpu_next(struct offcpu *o)
{
	for (size_t i = 0; i < o->waiters.len; i++) {
		struct waiter *w = &o->waiters.data[i];

		for (size_t k = 0; k < OFF_PLACES; k++) {
			struct place *p = &w->places[k];

			p->before_ns = p->now_ns;
			p->told_ns = p->alone_ns = p->left_ns = 0;
		}
		if (w->has_ended)
			offcpu_forget(o, w->thread.tid);
	}
}

size_t offcpu_count(const struct offcpu *o)
{
	return o->n;
}

size_t offcpu_bytes(const struct offcpu *o)
{
	return o->words_bytes + o->waiters.cap * sizeof(*o->waiters.data) +
	       o->by_tid.n_slots * sizeof(struct index_slot);
}
