/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One entry for each thread that has been off the CPU: the stack of its last interval, how
 * far that interval has been counted, and which of the kernel's sums were reported already.
 * The BPF program keeps its own state for the same thread, which is authoritative: whatever
 * is lost between the two is reported as time without a stack.
 *
 * Estimation. A thread may wait many thousand times per second, too often to capture every
 * stack. The BPF program then selects one wait in each row of 2^shift and reports it with that
 * weight ("thinned"), but it adds up the time of all waits exactly. The sums are kept for
 * each of OFF_PLACES hashed wait places of a thread, so that a long wait in one place does
 * not distort the estimate of short waits in another. At the end of a window, for each place:
 * - thinned waits were reported: their weighted time is scaled by the ratio of the exact sum
 *   to the reported time (scale.thinned). The estimate of each stack keeps its share and the
 *   total becomes exact.
 * - none was reported, but waits with weight 1 were, all with one stack: that stack gets the
 *   time (scale.all).
 * - else the time is reported without a stack.
 *
 * An interval that has not ended yet is counted at the end of a window only if it is certain that
 * its weight will be 1: see is_certain().
 */
#include "profiler/offcpu.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/index.h"
#include "base/vec.h"
#include "profiler/wakers.h"

/* Sums for one wait place of a thread, over the present window except where noted. */
struct place {
	/*
	 * Time of thinned waits: as reported, weighted; and the kernel's exact sum at the
	 * start of the window and now.
	 */

	uint64_t reported_ns, start_ns, now_ns;
	uint64_t single_ns;     /* reported waits with a stack and weight 1 */
	uint64_t unassigned_ns; /* exact time to be assigned to the only known stack */
	uint32_t stack;         /* hash of the last stack, kept across windows; 0: none yet */
	bool has_other_stacks;  /* more than that one stack was seen */
};

struct waiter {
	struct sample_counts_thread thread;
	uint64_t out_ns;     /* start of the interval whose stack is here; 0: none */
	uint64_t counted_ns; /* counted up to this time; 0: not at all yet */
	bool is_counted;     /* the interval was counted to its end */
	uint64_t unsampled_ns,
		unsampled_queued_ns; /* kernel sums without a stack, as last reported */
	struct place places[OFF_PLACES];
	bool has_ended;
	uint64_t *words;
	uint32_t n_words, cap;
	char *labels; /* of the interval; NULL: none */
	size_t labels_len;
	struct thread_wakers wakers;
	uint32_t next_free;
};

struct offcpu {
	offcpu_time_fn fn;
	void *ctx;
	bool has_wakers;
	struct {
		VEC(struct waiter);
	} waiters;
	struct index by_tid;
	uint32_t first_free; /* index plus 1; 0: none */
	uint32_t n;
	size_t words_bytes;
};

struct tid_key {
	const struct offcpu *o;
	uint32_t tid;
};

int offcpu_new(struct offcpu **out, offcpu_time_fn fn, void *ctx)
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
	for (size_t i = 0; i < o->waiters.len; i++) {
		free(o->waiters.data[i].words);
		free(o->waiters.data[i].labels);
		thread_wakers_fini(&o->waiters.data[i].wakers);
	}
	vec_fini(&o->waiters);
	index_fini(&o->by_tid);
	free(o);
}

/* ---- threads -------------------------------------------------------------------------- */

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

void offcpu_remove_thread(struct offcpu *o, uint32_t tid)
{
	uint32_t id;
	struct waiter *w = waiter_find(o, tid, &id);

	if (!w)
		return;
	index_remove(&o->by_tid, hash_u64(tid), id);
	o->words_bytes -= w->cap * sizeof(*w->words) + w->labels_len;
	o->words_bytes -= thread_wakers_bytes(&w->wakers);
	free(w->words);
	free(w->labels);
	thread_wakers_fini(&w->wakers);
	*w = (struct waiter){ .next_free = o->first_free };
	o->first_free = id + 1;
	o->n--;
}

static struct waiter *waiter_get(struct offcpu *o, const struct sample_counts_thread *thread)
{
	struct waiter *w = waiter_find(o, thread->tid, NULL);
	uint32_t id;

	/* the tid was reused by another thread */
	if (w && w->has_ended) {
		offcpu_remove_thread(o, thread->tid);
		w = NULL;
	}
	if (!w && waiter_new(o, thread->tid, &id) == 0)
		w = &o->waiters.data[id];
	if (w)
		w->thread = *thread;
	return w;
}

/* Replaces the labels of @w; without memory it has none. */
static void set_labels(struct offcpu *o, struct waiter *w, const struct sample_labels *labels)
{
	size_t len = labels ? labels->len : 0;

	if (len == w->labels_len && (!len || !memcmp(w->labels, labels->text, len)))
		return;
	o->words_bytes -= w->labels_len;
	free(w->labels);
	w->labels = len ? malloc(len) : NULL;
	w->labels_len = w->labels ? len : 0;
	o->words_bytes += w->labels_len;
	if (w->labels)
		memcpy(w->labels, labels->text, len);
}

int offcpu_add_stack(struct offcpu *o, const struct sample_counts_thread *thread,
		     const struct sample_labels *labels, uint64_t out_ns, const uint64_t *words,
		     size_t n)
{
	struct waiter *w = waiter_get(o, thread);

	if (!w)
		return -ENOMEM;
	set_labels(o, w, labels);
	if (n > w->cap) {
		uint64_t *grown = reallocarray(w->words, n, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		w->words = grown;
		o->words_bytes += (n - w->cap) * sizeof(*grown);
		w->cap = (uint32_t)n;
	}
	if (w->out_ns != out_ns) {
		w->counted_ns = 0;
		w->is_counted = false;
	}
	if (n)
		memcpy(w->words, words, n * sizeof(*words));
	w->n_words = (uint32_t)n;
	w->out_ns = out_ns;
	return 0;
}

void offcpu_enable_wakers(struct offcpu *o)
{
	o->has_wakers = true;
}

int offcpu_add_waker(struct offcpu *o, const struct waking *k)
{
	struct waiter *w = waiter_find(o, k->tid, NULL),
		      *by = waiter_find(o, k->by.thread.tid, NULL);
	int r;

	if (!w || w->out_ns != k->out_ns)
		return 0;
	o->words_bytes -= thread_wakers_bytes(&w->wakers);
	r = thread_wakers_add(&w->wakers, k, by && by != w ? &by->wakers : NULL);
	o->words_bytes += thread_wakers_bytes(&w->wakers);
	return r;
}

bool offcpu_has_thread(const struct offcpu *o, uint32_t tid)
{
	return waiter_find(o, tid, NULL) != NULL;
}

/* ---- counting ------------------------------------------------------------------------- */

/* An interval, or the part of one that is counted now. */
struct part {
	const struct sample_counts_thread *thread;
	const uint64_t *words;
	size_t n_words;
	struct sample_labels labels;
	const struct waker_chain *wakers;
	enum off_state state;
	uint64_t from_ns, to_ns;
	uint64_t wake_ns; /* 0: the thread still waits */
	uint64_t weight;
	bool is_thinned, has_place;
	uint8_t place;
	bool is_new; /* nothing of the interval was counted before */
};

/* True in states that another thread, an interrupt or a signal ends. */
static bool is_wait(enum off_state state)
{
	return state >= OFF_SLEEPING && state != OFF_NEW;
}

/*
 * Returns the wakers of the interval that began at @out_ns; @otherwise if there are none. NULL:
 * they are not recorded.
 */
static const struct waker_chain *wakers_of(const struct offcpu *o, const struct waiter *w,
					   uint64_t out_ns, const struct waker_chain *otherwise)
{
	const struct waker_chain *found = thread_wakers_get(&w->wakers, out_ns);

	if (!o->has_wakers || !w->n_words)
		return NULL;
	return found ? found : otherwise;
}

static void report(struct offcpu *o, const struct part *p, enum off_state state, uint64_t ns,
		   uint64_t count)
{
	const uint64_t no_stack = FRAME_WORD(FRAME_ERROR, state == OFF_NEW ? OFFCPU_ERR_NEW_THREAD
									   : OFFCPU_ERR_NO_STACK);
	struct offcpu_time t = {
		.thread = p->thread,
		.words = p->n_words ? p->words : &no_stack,
		.n_words = p->n_words ? p->n_words : 1,
		.state = state,
		.ns = ns * p->weight,
		.count = count * p->weight,
		.is_thinned = p->is_thinned,
		.labels = p->labels,
		.wakers = is_wait(state) ? p->wakers : NULL,
		.place_plus_1 = p->has_place ? p->place + 1 : 0,
	};

	if (ns || count)
		o->fn(o->ctx, &t);
}

/*
 * Reports the time until the wake-up in the part's state, the time from there on as runnable
 * (waiting for a CPU).
 */
static void report_part(struct offcpu *o, const struct part *p)
{
	uint64_t wake = p->wake_ns && p->wake_ns < p->to_ns ? p->wake_ns : p->to_ns;

	if (p->to_ns <= p->from_ns)
		return;
	if (p->state == OFF_PREEMPTED || p->state == OFF_NEW) {
		report(o, p, p->state, p->to_ns - p->from_ns, p->is_new);
		return;
	}
	if (wake < p->from_ns)
		wake = p->from_ns;
	report(o, p, p->state, wake - p->from_ns, p->is_new);
	report(o, p, OFF_RUNNABLE, p->to_ns - wake, 0);
}

/* Returns true if the stack of @w belongs to the interval that began at @out_ns. */
static bool has_interval(const struct waiter *w, uint64_t out_ns)
{
	return w && w->out_ns == out_ns;
}

/* Reports what the kernel counted without stacks since the last report. */
static void report_unsampled(struct offcpu *o, struct waiter *w, uint64_t ns, uint64_t queued_ns)
{
	struct part p = { .thread = &w->thread, .weight = 1 };

	if (ns > w->unsampled_ns)
		report(o, &p, OFF_SLEEPING, ns - w->unsampled_ns, 1);
	if (queued_ns > w->unsampled_queued_ns)
		report(o, &p, OFF_RUNNABLE, queued_ns - w->unsampled_queued_ns, 0);
	w->unsampled_ns = ns;
	w->unsampled_queued_ns = queued_ns;
}

/*
 * Resolves the time of thinned waits of which none was reported: see the head of this file.
 * @thinned_ns has the kernel's exact sums by place.
 */
static void resolve_unreported(struct offcpu *o, struct waiter *w, const __u64 *thinned_ns)
{
	struct part part = { .thread = &w->thread, .weight = 1 };
	uint64_t no_stack_ns = 0;

	for (size_t i = 0; i < OFF_PLACES; i++) {
		struct place *p = &w->places[i];

		p->now_ns = thinned_ns[i];
		if (p->reported_ns || p->now_ns <= p->start_ns)
			continue;
		if (p->single_ns && !p->has_other_stacks)
			p->unassigned_ns += p->now_ns - p->start_ns;
		else
			no_stack_ns += p->now_ns - p->start_ns;
		p->start_ns = p->now_ns;
	}
	report(o, &part, OFF_SLEEPING, no_stack_ns, no_stack_ns != 0);
}

/* The entry stays until the window ends, because offcpu_scale() needs its sums. */
void offcpu_end_thread(struct offcpu *o, const struct off_last_record *r,
		       const struct sample_counts_thread *thread)
{
	struct waiter *w = waiter_get(o, thread);

	if (!w)
		return;
	report_unsampled(o, w, r->unsampled_ns, r->unsampled_queued_ns);
	resolve_unreported(o, w, r->thinned_ns);
	w->has_ended = true;
}

/* Records the stack of a wait that has ended as one of its place. */
static void record_stack(struct waiter *w, const struct part *part)
{
	struct place *p = &w->places[part->place];
	uint32_t hash = hash_bytes(w->words, w->n_words * sizeof(*w->words));

	if (!hash)
		hash = 1;
	if (!part->is_thinned && part->to_ns > part->from_ns)
		p->single_ns += part->to_ns - part->from_ns;
	p->has_other_stacks |= p->stack && p->stack != hash;
	p->stack = hash;
}

static struct sample_labels labels_of(const struct waiter *w)
{
	return (struct sample_labels){ w->labels, w->n_words ? w->labels_len : 0 };
}

void offcpu_end_wait(struct offcpu *o, const struct off_record *r,
		     const struct sample_counts_thread *thread)
{
	const struct waker_chain nobody = { .end = WAKER_END_UNKNOWN };
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
			w->places[p.place].reported_ns += (p.to_ns - p.from_ns) * p.weight;
	}
	if (has_interval(w, p.from_ns)) {
		if (w->is_counted)
			return;
		w->is_counted = true;
		p.thread = &w->thread;
		p.words = w->words;
		p.n_words = w->n_words;
		p.labels = labels_of(w);
		p.wakers = wakers_of(o, w, p.from_ns, &nobody);
	}
	if (has_interval(w, p.from_ns) && w->counted_ns) {
		p.from_ns = w->counted_ns;
		p.is_new = false;
	}
	if (p.n_words)
		record_stack(w, &p);
	else if (!p.is_thinned) /* scale.all must not enlarge a wait whose stack is unknown */
		p.has_place = false;
	report_part(o, &p);
	if (w && o->has_wakers && is_wait(p.state))
		thread_wakers_end(&w->wakers, r->head.time_ns);
}

/*
 * Returns true if the weight of a running interval is known: it is 1 if the interval is long (the
 * BPF program never thins long ones), or if the BPF program has decided to report it with weight 1.
 * In the last window the weight no longer matters.
 */
static bool is_certain(const struct off_thread *t, uint64_t now_ns, bool is_last)
{
	bool is_decided = t->chosen == OFF_CHOSEN || t->reported;

	if (!t->out_ns || t->out_ns >= now_ns)
		return false;
	return now_ns - t->out_ns >= OFF_LONG_NS || (is_decided && (!t->shift || is_last));
}

/*
 * Time so far of an interval that may yet be thinned: in the last window it belongs to the
 * exact sum of its place.
 */
static uint64_t uncertain_ns(const struct off_thread *t, uint64_t now_ns)
{
	return t->out_ns && t->out_ns < now_ns ? now_ns - t->out_ns : 0;
}

/* Makes the interval that began at @out_ns the one of @w, without a stack. */
static void begin_interval(struct waiter *w, uint64_t out_ns)
{
	w->out_ns = out_ns;
	w->counted_ns = 0;
	w->is_counted = false;
	w->n_words = 0;
}

/* Counts a running interval up to @now_ns. */
static void count_interval(struct offcpu *o, struct waiter *w, const struct off_thread *t,
			   uint64_t now_ns)
{
	const struct waker_chain nobody = { .end = WAKER_END_WAITS };
	struct part p = { .thread = &w->thread,
			  .state = t->state,
			  .to_ns = now_ns,
			  .wake_ns = t->wake_ns,
			  .weight = 1 };

	if (w->out_ns > t->out_ns) /* the interval has ended and was counted since @t was read */
		return;
	if (w->out_ns < t->out_ns)
		begin_interval(w, t->out_ns);
	if (w->is_counted)
		return;
	p.words = w->words;
	p.n_words = w->n_words;
	p.labels = labels_of(w);
	p.wakers = wakers_of(o, w, t->out_ns, &nobody);
	p.from_ns = w->counted_ns ? w->counted_ns : t->out_ns;
	p.is_new = !w->counted_ns;
	report_part(o, &p);
	if (now_ns > p.from_ns)
		w->counted_ns = now_ns;
}

static bool has_thinned(const struct off_thread *t)
{
	uint64_t any = 0;

	for (size_t i = 0; i < OFF_PLACES; i++)
		any |= t->places[i].thinned_ns;
	return any != 0;
}

int offcpu_end_window(struct offcpu *o, uint32_t tid, const struct off_thread *t,
		      const struct sample_counts_thread *thread, uint64_t now_ns, bool is_last)
{
	struct waiter *w = waiter_find(o, tid, NULL);
	bool certain = is_certain(t, now_ns, is_last);
	__u64 thinned_ns[OFF_PLACES];

	for (size_t i = 0; i < OFF_PLACES; i++)
		thinned_ns[i] = t->places[i].thinned_ns;
	if (is_last && !certain)
		thinned_ns[t->place & (OFF_PLACES - 1)] += uncertain_ns(t, now_ns);
	if (!w && (certain || t->unsampled_ns || t->unsampled_queued_ns || has_thinned(t)))
		w = waiter_get(o, thread);
	if (!w)
		return certain ? -ENOMEM : 0;
	report_unsampled(o, w, t->unsampled_ns, t->unsampled_queued_ns);
	resolve_unreported(o, w, thinned_ns);
	if (certain)
		count_interval(o, w, t, now_ns);
	return 0;
}

struct sample_counts_scale offcpu_scale(const struct offcpu *o,
					const struct sample_counts_thread *thread, uint8_t place)
{
	const struct waiter *w = waiter_find(o, thread->tid, NULL);
	const struct place *p = w ? &w->places[place & (OFF_PLACES - 1)] : NULL;
	struct sample_counts_scale scale = { 1, 1 };

	if (!w || w->thread.pid != thread->pid)
		return scale;
	if (p->reported_ns && p->now_ns > p->start_ns)
		scale.thinned = (double)(p->now_ns - p->start_ns) / (double)p->reported_ns;
	if (p->unassigned_ns)
		scale.all = 1 + (double)p->unassigned_ns / (double)p->single_ns;
	return scale;
}

void offcpu_begin_window(struct offcpu *o)
{
	for (size_t i = 0; i < o->waiters.len; i++) {
		struct waiter *w = &o->waiters.data[i];

		for (size_t k = 0; k < OFF_PLACES; k++) {
			struct place *p = &w->places[k];

			p->start_ns = p->now_ns;
			p->reported_ns = p->single_ns = p->unassigned_ns = 0;
		}
		if (w->has_ended)
			offcpu_remove_thread(o, w->thread.tid);
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
