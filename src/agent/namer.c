/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of which not all is read yet that its labels are made of (target/facts.h) has its
 * profile held back, named: it goes out with the next window that finds it read, under the time
 * of its own; after a few windows, or at the end, with the labels that there are, which is counted.
 */
#include "agent/namer.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "agent/collect.h"
#include "agent/locate.h"
#include "base/clock.h"
#include "base/vec.h"
#include "export/export.h"
#include "profile/profile.h"
#include "target/facts.h"
#include "target/labeler.h"

/* The profile of one set of labels. */
struct group {
	struct target_labels labels;
	uint64_t hash;
	struct profile *profile;
};

/* The profile of a program of which not all is read that its labels are made of. */
struct held {
	struct collect_thread thread;
	enum names_what what;
	struct names_window window;
	unsigned int n_windows; /* that it was held for */
	size_t bytes;
	struct profile *profile;
};

/* A window being made. */
struct work {
	struct namer *n;
	const struct collect *collect;
	struct names_window window;
	struct names_run *run; /* NULL: nothing is in work */
	uint64_t now_ns;       /* when it was begun */
	struct {
		VEC(struct group);
	} groups;
	size_t bytes;      /* of their profiles */
	uint64_t n_groups; /* of all parts */
	struct names_stats names;
	uint64_t n_over, n_dropped, n_unread;
};

struct namer {
	struct namer_opts opts;
	struct locator *locator; /* the thread's, as is the labeler */
	struct labeler *labeler;
	pthread_t thread;
	bool started;
	atomic_bool gives_way;     /* to namer_finish() */
	_Atomic uint64_t until_ns; /* of namer_hurry(); 0: there is time */
	struct work work;          /* the window being named: the thread's, too */
	struct {
		VEC(struct held);
	} held; /* oldest first: the thread's, too */
	size_t held_bytes;

	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	bool ends, shrink;
	struct collect *collect; /* what it is to name, or is at; NULL: idle */
	struct names_window window;
	struct labeler *next_labeler; /* NULL: the same */
	struct namer_stats stats;
};

/* ---- one window ----------------------------------------------------------------------- */

/* Labels of a program: 0; PROGRAM_DROPPED; -ENOMEM. */
enum {
	PROGRAM_DROPPED = 1,
	HELD_WINDOWS = 4, /* so long a program's profiles wait for their labels */
};

static struct facts_process *facts_of(struct work *w, const struct collect_thread *t)
{
	return facts_find(w->n->opts.facts, t->pid, t->start_ns);
}

static int labels_of(struct work *w, const struct collect_thread *t, struct target_labels *out)
{
	struct facts_process *facts = facts_of(w, t);
	const struct target_labels *labels;

	*out = (struct target_labels){ 0 };
	if (!facts) /* there was no memory to note it */
		return target_labels_put(out, "service_name",
					 t->process_comm[0] ? t->process_comm : "unknown");
	if (strcmp(facts->comm, t->process_comm) != 0) {
		memcpy(facts->comm, t->process_comm, sizeof(facts->comm));
		facts->labels_until_ns = 0;
	}
	labels = labeler_labels(w->n->labeler, facts, w->now_ns);
	return labels ? target_labels_copy(out, labels) : PROGRAM_DROPPED;
}

static struct group *group_find(struct work *w, const struct target_labels *labels, uint64_t hash)
{
	for (size_t i = 0; i < w->groups.len; i++) {
		struct group *g = &w->groups.data[i];

		if (g->hash == hash && target_labels_equal(&g->labels, labels))
			return g;
	}
	return NULL;
}

/* Takes @labels and *@p on success. */
static int group_add(struct work *w, struct target_labels *labels, struct profile **p)
{
	struct group fresh = { .labels = *labels, .hash = target_labels_hash(labels) };
	struct group *g = group_find(w, labels, fresh.hash);
	int r;

	if (g) {
		r = profile_merge(g->profile, *p);
		if (r < 0)
			return r;
		profile_free(steal_ptr(p));
		target_labels_fini(labels);
		return 0;
	}
	fresh.profile = *p;
	r = vec_push(&w->groups, fresh);
	if (r < 0)
		return r;
	*p = NULL;
	*labels = (struct target_labels){ 0 };
	return 0;
}

/* Takes the group's profile. */
static int export_group(struct export_window *out, struct group *g)
{
	struct export_label labels[LABELS_MAX];

	for (size_t i = 0; i < g->labels.n; i++)
		labels[i] = (struct export_label){ g->labels.of[i].name, g->labels.of[i].value };
	return export_window_add(out, steal_ptr(&g->profile), labels, g->labels.n);
}

static void groups_fini(struct work *w)
{
	for (size_t i = 0; i < w->groups.len; i++) {
		target_labels_fini(&w->groups.data[i].labels);
		profile_free(w->groups.data[i].profile);
	}
	vec_fini(&w->groups);
	w->bytes = 0;
}

/* Hand over what there is. */
static int export_part(struct work *w)
{
	_cleanup_(export_window_freep) struct export_window *out = NULL;
	const struct names_window *window = &w->window;
	int r = export_window_new(&out, window->time_ns, window->time_ns + window->duration_ns);

	for (size_t i = 0; i < w->groups.len && r == 0; i++)
		r = export_group(out, &w->groups.data[i]);
	w->n_groups += w->groups.len;
	groups_fini(w);
	if (r == 0)
		w->n->opts.export(w->n->opts.ctx, steal_ptr(&out));
	return r;
}

/* What a rule drops need not be named. */
static bool is_wanted(void *ctx, const struct collect_thread *thread, uint64_t n)
{
	struct work *w = ctx;
	const struct facts_process *facts = facts_of(w, thread);
	struct target_labels labels;
	bool dropped;

	if (facts && facts->waits)
		return true;
	dropped = labels_of(w, thread, &labels) == PROGRAM_DROPPED;
	w->n_dropped += dropped ? n : 0;
	target_labels_fini(&labels);
	return !dropped;
}

/* What it has of the type "samples". */
static uint64_t count_samples(const struct profile *p)
{
	uint64_t n = 0;

	for (size_t k = 0; k < profile_n_sample_types(p); k++) {
		if (strcmp(profile_string(p, profile_sample_type(p, k).type), "samples") != 0)
			continue;
		for (uint32_t i = 0; i < profile_n_samples(p); i++)
			n += (uint64_t)profile_sample(p, i).values[k];
	}
	return n;
}

/* Takes @p. */
static int put_program(struct work *w, const struct collect_thread *thread, enum names_what what,
		       struct profile *p)
{
	_cleanup_(profile_freep) struct profile *own = p;
	const struct facts_process *facts = facts_of(w, thread);
	struct target_labels labels;
	int r = labels_of(w, thread, &labels);

	w->n_unread += facts && !facts->is_read;
	if (r == PROGRAM_DROPPED) { /* since is_wanted() was asked, or it was not */
		w->n_dropped += count_samples(p);
		return 0;
	}
	w->bytes += profile_bytes(p);
	if (r == 0) {
		w->n_over += labeler_limit(w->n->labeler, &labels, w->now_ns);
		if (what == NAMES_OFF)
			r = target_labels_put(&labels, "__name__", "off_cpu");
		target_labels_sort(&labels);
	}
	if (r == 0) {
		r = group_add(w, &labels, &own);
	}
	target_labels_fini(&labels);
	/* a window of very many names goes out in parts, so that they are never all in memory */
	if (r == 0 && w->n->opts.part_bytes && w->bytes > w->n->opts.part_bytes)
		r = export_part(w);
	return r;
}

/* ---- programs that wait for their labels -------------------------------------------------- */

/* Takes @p. */
static int hold(struct work *w, const struct collect_thread *thread, enum names_what what,
		struct profile *p)
{
	struct held h = {
		.thread = *thread,
		.what = what,
		.window = w->window,
		.bytes = profile_bytes(p),
		.profile = p,
	};
	int r = vec_push(&w->n->held, h);

	if (r < 0)
		profile_free(p);
	else
		w->n->held_bytes += h.bytes;
	return r;
}

/* More wait than may. */
static bool is_crowded(const struct namer *n)
{
	return n->opts.part_bytes && n->held_bytes > n->opts.part_bytes;
}

static int on_process(void *ctx, const struct collect_thread *thread, enum names_what what,
		      struct profile *p)
{
	struct work *w = ctx;
	const struct facts_process *facts = facts_of(w, thread);
	bool waits = facts && facts->waits && !is_crowded(w->n);

	return waits ? hold(w, thread, what, p) : put_program(w, thread, what, p);
}

/* It has its labels now, or can't wait for them any more. */
static bool is_due(struct work *w, const struct held *h)
{
	const struct facts_process *facts = facts_of(w, &h->thread);

	return !facts || !facts->waits || h->n_windows >= HELD_WINDOWS || !w->n->started ||
	       is_crowded(w->n);
}

/* What is due of the window of @w. */
static int release_into(struct work *w)
{
	struct namer *n = w->n;
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < n->held.len; i++) {
		struct held h = n->held.data[i];

		if (r < 0 || h.window.time_ns != w->window.time_ns || !is_due(w, &h)) {
			n->held.data[kept++] = h;
			continue;
		}
		n->held_bytes -= h.bytes;
		r = put_program(w, &h.thread, h.what, h.profile);
	}
	n->held.len = kept;
	return r;
}

/* What is due of windows before that of @w, each as a part of its own. */
static int release_before(struct work *w)
{
	struct namer *n = w->n;
	size_t i = 0;
	int r = 0;

	while (i < n->held.len && r == 0) {
		struct work before = { .n = n,
				       .window = n->held.data[i].window,
				       .now_ns = w->now_ns };
		size_t n_held = n->held.len;

		if (is_due(w, &n->held.data[i]))
			r = release_into(&before);
		if (r == 0 && before.groups.len)
			r = export_part(&before);
		groups_fini(&before);
		w->n_groups += before.n_groups;
		w->n_over += before.n_over;
		w->n_dropped += before.n_dropped;
		w->n_unread += before.n_unread;
		i += n->held.len == n_held;
	}
	return r;
}

static int release(struct work *w)
{
	int r = release_into(w);

	if (r == 0)
		r = release_before(w);
	for (size_t i = 0; i < w->n->held.len; i++)
		w->n->held.data[i].n_windows++;
	return r;
}

static void note_names(struct names_stats *sum, const struct names_stats *s)
{
	sum->n_frames += s->n_frames;
	sum->n_unnamed += s->n_unnamed;
	for (int k = 0; k < PROFILE_FRAME_MAX; k++)
		for (int why = 0; why < WALK_ERR_MAX; why++)
			sum->by_kind[k][why] += s->by_kind[k][why];
}

static void note_counts(struct namer *n, const struct work *w)
{
	struct namer_stats *s = &n->stats;

	s->n_profiles += w->n_groups;
	s->n_series_over += w->n_over;
	s->n_samples_dropped += w->n_dropped;
	s->n_unread += w->n_unread;
	s->n_held = n->held.len;
}

static void note_stats(struct namer *n, const struct work *w, int r)
{
	struct namer_stats *s = &n->stats;

	pthread_mutex_lock(&n->lock);
	note_names(&s->names, &w->names);
	locator_counters(n->locator, &s->symbolizer);
	s->n_windows += r == 0;
	s->n_failed += r < 0;
	note_counts(n, w);
	s->names_bytes = locator_bytes(n->locator);
	s->worker_pid = locator_worker_pid(n->locator);
	s->n_series = labeler_series(n->labeler);
	s->last_ns = clock_monotonic_ns() - w->now_ns;
	pthread_mutex_unlock(&n->lock);
}

static void work_fini(struct work *w)
{
	names_run_free(w->run);
	groups_fini(w);
	*w = (struct work){ 0 };
}

static int begin_window(struct namer *n, const struct collect *c, const struct names_window *window)
{
	struct work *w = &n->work;
	const struct names_to to = { is_wanted, on_process, w };

	*w = (struct work){
		.n = n, .collect = c, .window = *window, .now_ns = clock_monotonic_ns()
	};
	return names_run_new(&w->run, n->locator, c, &w->window, &to, &w->names);
}

/* The window in work goes out, as far as it is named. */
static void end_window(struct namer *n, int r)
{
	struct work *w = &n->work;
	char line[120];

	if (r == 0)
		r = release(w);
	if (r == 0)
		r = export_part(w);
	if (r < 0 && n->opts.log) {
		snprintf(line, sizeof(line), "level=error msg=\"a window is lost\" error=\"%s\"",
			 strerror(-r));
		n->opts.log(n->opts.ctx, line);
	}
	locator_rest(n->locator);
	note_stats(n, w, r);
	work_fini(w);
}

/* Nothing waits any more. */
static void flush_held(struct namer *n)
{
	struct work w = { .n = n, .now_ns = clock_monotonic_ns() };

	(void)release(&w);
	pthread_mutex_lock(&n->lock);
	note_counts(n, &w);
	pthread_mutex_unlock(&n->lock);
}

/*
 * Go on with the window @c, or begin it; until there is no time or another thread is to do
 * it. Whether it is done.
 */
static bool name_window(struct namer *n, const struct collect *c, const struct names_window *window,
			uint64_t deadline_ns)
{
	int r = n->work.run ? 1 : begin_window(n, c, window);

	if (r == 0)
		r = 1;
	while (r > 0) {
		if (atomic_load(&n->gives_way) || clock_monotonic_ns() > deadline_ns)
			return false;
		r = names_run_step(n->work.run);
	}
	end_window(n, r);
	return true;
}

/* ---- the thread ------------------------------------------------------------------------ */

/* Wait for something to do, under the lock. */
static void wait_for_work(struct namer *n)
{
	while (!n->collect && !n->ends && !n->shrink)
		pthread_cond_wait(&n->changed, &n->lock);
}

static void take_labeler(struct namer *n)
{
	struct labeler *old = n->labeler;

	if (!n->next_labeler)
		return;
	n->labeler = steal_ptr(&n->next_labeler);
	labeler_free(old);
}

/* The next window, or NULL: the end. What may be forgotten is, meanwhile. */
static struct collect *next_window(struct namer *n, struct names_window *out)
{
	struct collect *c;

	pthread_mutex_lock(&n->lock);
	wait_for_work(n);
	while (n->shrink) {
		n->shrink = false;
		pthread_mutex_unlock(&n->lock);
		locator_trim(n->locator);
		malloc_trim(0);
		pthread_mutex_lock(&n->lock);
		wait_for_work(n);
	}
	c = n->collect;
	*out = n->window;
	take_labeler(n);
	pthread_mutex_unlock(&n->lock);
	return c;
}

static void drop_window(struct namer *n)
{
	pthread_mutex_lock(&n->lock);
	collect_free(steal_ptr(&n->collect));
	pthread_mutex_unlock(&n->lock);
}

static void *namer_main(void *arg)
{
	struct namer *n = arg;
	struct names_window window;
	struct collect *c;

	/* the sampling thread goes first; this one need not */
	(void)setpriority(PRIO_PROCESS, 0, n->opts.priority);
	while ((c = next_window(n, &window))) {
		if (!name_window(n, c, &window, UINT64_MAX))
			break;
		drop_window(n);
	}
	return NULL;
}

int namer_new(struct namer **out, const struct namer_opts *opts)
{
	_cleanup_(namer_freep) struct namer *n = calloc(1, sizeof(*n));
	struct locator_opts lo = *opts->locator;
	int r;

	if (!n) {
		labeler_free(opts->labeler);
		return -ENOMEM;
	}
	n->opts = *opts;
	n->labeler = opts->labeler;
	pthread_mutex_init(&n->lock, NULL);
	pthread_cond_init(&n->changed, NULL);
	lo.symbolizer.until_ns = &n->until_ns;
	lo.gives_way = &n->gives_way;
	r = locator_new(&n->locator, &lo);
	if (r < 0)
		return r;
	r = pthread_create(&n->thread, NULL, namer_main, n);
	if (r)
		return -r;
	n->started = true;
	(void)pthread_setname_np(n->thread, "cameo-names");
	*out = steal_ptr(&n);
	return 0;
}

static void end_thread(struct namer *n)
{
	pthread_mutex_lock(&n->lock);
	n->ends = true;
	pthread_cond_broadcast(&n->changed);
	pthread_mutex_unlock(&n->lock);
}

void namer_free(struct namer *n)
{
	if (!n)
		return;
	if (n->started) {
		end_thread(n);
		pthread_join(n->thread, NULL);
	}
	work_fini(&n->work);
	for (size_t i = 0; i < n->held.len; i++)
		profile_free(n->held.data[i].profile);
	vec_fini(&n->held);
	collect_free(n->collect);
	locator_free(n->locator);
	labeler_free(n->labeler);
	labeler_free(n->next_labeler);
	pthread_cond_destroy(&n->changed);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

bool namer_is_idle(struct namer *n)
{
	bool idle;

	pthread_mutex_lock(&n->lock);
	idle = !n->collect;
	pthread_mutex_unlock(&n->lock);
	return idle;
}

void namer_give(struct namer *n, struct collect *c, const struct names_window *window)
{
	pthread_mutex_lock(&n->lock);
	n->collect = c;
	n->window = *window;
	pthread_cond_broadcast(&n->changed);
	pthread_mutex_unlock(&n->lock);
}

/* The thread leaves what it is at. 0, or ETIMEDOUT. */
static int relieve(struct namer *n, uint64_t deadline_ns)
{
	const struct timespec until = {
		.tv_sec = (time_t)(deadline_ns / CLOCK_SECOND_NS),
		.tv_nsec = (long)(deadline_ns % CLOCK_SECOND_NS),
	};
	int r;

	if (!n->started)
		return 0;
	atomic_store(&n->gives_way, true);
	end_thread(n);
	r = pthread_clockjoin_np(n->thread, NULL, CLOCK_MONOTONIC, &until);
	if (r)
		return r;
	n->started = false;
	atomic_store(&n->gives_way, false);
	return 0;
}

uint64_t namer_finish(struct namer *n, uint64_t deadline_ns)
{
	uint64_t left = 0;

	if (relieve(n, deadline_ns) != 0)
		return n->collect ? collect_total(n->collect) : 0;
	if (!n->collect) {
		flush_held(n);
		return 0;
	}
	if (!name_window(n, n->collect, &n->window, deadline_ns)) {
		left = names_run_left(n->work.run);
		end_window(n, 0);
	}
	drop_window(n);
	return left;
}

void namer_hurry(struct namer *n, uint64_t until_ns)
{
	atomic_store(&n->until_ns, until_ns);
}

void namer_set_labeler(struct namer *n, struct labeler *l)
{
	struct labeler *old;

	pthread_mutex_lock(&n->lock);
	old = n->next_labeler;
	n->next_labeler = l;
	pthread_mutex_unlock(&n->lock);
	labeler_free(old);
}

void namer_shrink(struct namer *n)
{
	pthread_mutex_lock(&n->lock);
	n->shrink = true;
	pthread_cond_broadcast(&n->changed);
	pthread_mutex_unlock(&n->lock);
}

void namer_stats(struct namer *n, struct namer_stats *out)
{
	pthread_mutex_lock(&n->lock);
	*out = n->stats;
	pthread_mutex_unlock(&n->lock);
}
