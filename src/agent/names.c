/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two passes: first every distinct word of every stack is given a location,
 * all in one batch; then the samples refer to these. Where each program has a
 * profile of its own, what none of them knows is asked for before, in one batch;
 * but a window of very many frames part by part, so that memory is bounded.
 */
#include "agent/names.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agent/collect.h"
#include "agent/events.h"
#include "agent/locate.h"
#include "agent/offcpu.h"
#include "agent/waits.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/vec.h"

enum {
	NS_PER_S = 1000000000,
	PART_WORDS = 32 << 10, /* frames that are named together: their names are kept meanwhile */
	LABELS_MAX = 7,
	VALUES_MAX = EVENTS_MAX, /* 4 where there is what waited */
	KERNEL_NAMES_MAX = KERNEL_FRAMES_MAX,
};

struct job {
	struct profile *p;
	const struct collect *c;
	const struct names_window *window;
	enum names_what what;
	const uint32_t *samples; /* of the window's, those in work */
	size_t n_samples;
	struct {
		VEC(struct located);
	} words; /* distinct ones */
	struct index by_word;
	struct {
		VEC(uint32_t);
	} refs; /* into words, for each frame of each sample in turn */
	struct {
		VEC(uint32_t);
	} stack; /* of the sample in work */
	struct {
		VEC(uint64_t);
	} times; /* of the sample in work */
	uint32_t key_pid, key_tid, key_comm, key_thread, key_cpu, key_state, key_wait;
	struct names_stats *stats;
	uint64_t generated_votes; /* for stats->generated_by, less those for others */
};

struct word_key {
	const struct job *j;
	uint64_t word;
	uint32_t pid;
};

static bool same_word(const void *ctx, uint32_t id)
{
	const struct word_key *k = ctx;
	const struct located *l = &k->j->words.data[id];

	return l->word == k->word && l->pid == k->pid;
}

/* Note that the frame @word of process @pid is needed. */
static int refer(struct job *j, uint64_t word, uint32_t pid)
{
	bool per_process = word >> FRAME_KIND_SHIFT == FRAME_ADDRESS;
	struct word_key key = { j, word, per_process ? pid : 0 };
	uint32_t hash = hash_u64(word ^ (uint64_t)key.pid << 32), id;
	int r = 0;

	if (!index_find(&j->by_word, hash, same_word, &key, &id)) {
		id = (uint32_t)j->words.len;
		r = vec_push(&j->words, (struct located){ .word = word, .pid = key.pid });
		if (r == 0)
			r = index_add(&j->by_word, hash, id);
	}
	return r < 0 ? r : vec_push(&j->refs, id);
}

static int refer_all(struct job *j)
{
	int r = 0;

	for (size_t i = 0; i < j->n_samples; i++) {
		const struct collect_sample *s = collect_sample(j->c, j->samples[i]);
		uint32_t pid = collect_thread(j->c, s->thread)->pid;
		size_t n;
		const uint64_t *words = collect_stack(j->c, s->stack, &n);

		for (size_t k = 0; k < n && r == 0; k++)
			r = refer(j, words[k], pid);
	}
	return r;
}

static int add_string(struct job *j, const char *s, uint32_t *out)
{
	return profile_add_string(j->p, s, strlen(s), out);
}

static int make_labels(struct job *j, const struct collect_thread *t,
		       struct profile_label out[LABELS_MAX], uint32_t *out_n)
{
	char thread[sizeof(t->comm) + 16];
	int r;

	out[0] = (struct profile_label){ .key = j->key_pid, .num = t->pid };
	out[1] = (struct profile_label){ .key = j->key_tid, .num = t->tid };
	out[2] = (struct profile_label){ .key = j->key_comm };
	out[3] = (struct profile_label){ .key = j->key_thread };
	out[4] = (struct profile_label){ .key = j->key_cpu, .num = (int64_t)t->cpu_plus_1 - 1 };
	*out_n = t->cpu_plus_1 ? 5 : 4;
	snprintf(thread, sizeof(thread), j->window->per_thread ? "%s-%u" : "%s", t->comm, t->tid);
	r = add_string(j, t->process_comm, &out[2].str);
	return r < 0 ? r : add_string(j, thread, &out[3].str);
}

/* Generated and interpreted code says more of a program than the machine's own. */
static int kind_rank(uint8_t kind)
{
	switch (kind) {
	case PROFILE_FRAME_ERROR:
	case PROFILE_FRAME_UNKNOWN:
		return 0;
	case PROFILE_FRAME_KERNEL:
		return 1;
	case PROFILE_FRAME_NATIVE:
		return 2;
	default:
		return 2 + kind;
	}
}

/* A sample with generated code of no name. Programs vote: what more than half of them are, wins. */
static void count_generated(struct job *j, const struct collect_sample *s)
{
	struct names_stats *st = j->stats;
	const char *comm = collect_thread(j->c, s->thread)->process_comm;

	st->n_generated += s->count;
	if (!strncmp(st->generated_by, comm, sizeof(st->generated_by) - 1)) {
		j->generated_votes += s->count;
	} else if (j->generated_votes >= s->count) {
		j->generated_votes -= s->count;
	} else {
		j->generated_votes = s->count - j->generated_votes;
		snprintf(st->generated_by, sizeof(st->generated_by), "%s", comm);
	}
}

static void count(struct job *j, const struct collect_sample *s, const uint32_t *refs, size_t n)
{
	bool generated = false, near = false;
	uint8_t kind = PROFILE_FRAME_UNKNOWN;
	uint64_t last = n ? j->words.data[refs[n - 1]].word : 0, why = WALK_OK;

	for (size_t i = 0; i < n; i++) {
		const struct located *w = &j->words.data[refs[i]];

		if (kind_rank(w->kind) > kind_rank(kind))
			kind = w->kind;
		j->stats->n_frames += w->kind != PROFILE_FRAME_ERROR ? s->count : 0;
		j->stats->n_unnamed += w->unnamed ? s->count : 0;
		near |= w->near;
		generated |= w->unnamed && w->word >> FRAME_KIND_SHIFT == FRAME_ADDRESS;
	}
	j->stats->n_near += near ? s->count : 0;
	if (generated)
		count_generated(j, s);
	if (last >> FRAME_KIND_SHIFT == FRAME_ERROR && (last & FRAME_PAYLOAD_MASK) < WALK_ERR_MAX)
		why = last & FRAME_PAYLOAD_MASK;
	j->stats->by_kind[kind][why] += s->count;
	j->stats->by_event[s->event] += s->count;
}

/* When it was seen, oldest first, by the clock on the wall. */
static int make_times(struct job *j, const struct collect_sample *s, struct profile_sample *out)
{
	uint64_t *t;
	int r = vec_reserve(&j->times, s->count);

	if (r < 0)
		return r;
	t = j->times.data;
	out->n_times = (uint32_t)collect_times(j->c, s, t);
	out->times = t;
	for (uint32_t i = 0; i < out->n_times; i++)
		t[i] += (uint64_t)j->window->clock_offset_ns;
	for (uint32_t i = 0; i < out->n_times / 2; i++) {
		uint64_t swapped = t[i];

		t[i] = t[out->n_times - 1 - i];
		t[out->n_times - 1 - i] = swapped;
	}
	return 0;
}

/* How much a sample of that event stands for. */
static int64_t period_of(const struct names_window *w, size_t event)
{
	if (event < w->n_events && w->events[event].period)
		return (int64_t)w->events[event].period;
	return NS_PER_S / w->freq_hz;
}

/* ---- what waited ------------------------------------------------------------------ */

/* What a location's function is called, or "". */
static const char *name_of(const struct job *j, uint32_t location)
{
	struct profile_location l = profile_location(j->p, location);

	if (!l.n_lines)
		return "";
	return profile_string(j->p, profile_function(j->p, l.lines[0].function)->name);
}

/* Why a thread waits, as its stack says; *@out_skip: frames that are not its own. */
static const char *find_reason(const struct job *j, const uint32_t *refs, size_t n,
			       size_t *out_skip)
{
	const char *names[KERNEL_NAMES_MAX];
	size_t n_names = 0;

	while (n_names < n && n_names < KERNEL_NAMES_MAX &&
	       j->words.data[refs[n_names]].kind == PROFILE_FRAME_KERNEL) {
		names[n_names] = name_of(j, j->words.data[refs[n_names]].location);
		n_names++;
	}
	*out_skip = wait_skip(names, n_names);
	return wait_reason(names + *out_skip, n_names - *out_skip);
}

/* The second cgroup hierarchy freezes by an ordinary sleep: where it is tells. */
static const char *state_name(const struct collect_sample *s, const char *reason)
{
	if (!s->off_state)
		return "running";
	if (s->off_state == OFF_SLEEPING && !strcmp(reason, "frozen"))
		return off_state_text(OFF_FROZEN);
	return off_state_text(s->off_state);
}

static int add_wait_labels(struct job *j, const struct collect_sample *s, const char *reason,
			   struct profile_label labels[LABELS_MAX], uint32_t *io_n)
{
	int r;

	if (j->what == NAMES_CPU)
		return 0;
	labels[*io_n] = (struct profile_label){ .key = j->key_state };
	r = add_string(j, state_name(s, reason), &labels[*io_n].str);
	(*io_n)++;
	if (r < 0 || !s->off_state || !reason[0])
		return r;
	labels[*io_n] = (struct profile_label){ .key = j->key_wait };
	r = add_string(j, reason, &labels[*io_n].str);
	(*io_n)++;
	return r;
}

static void count_off(struct job *j, const struct collect_sample *s, const char *reason)
{
	size_t n;
	const uint64_t *words = collect_stack(j->c, s->stack, &n);

	j->stats->off_ns += s->off_ns;
	if (!strcmp(reason, "futex"))
		j->stats->futex_ns += s->off_ns;
	if (n == 1 && words[0] == FRAME_WORD(FRAME_ERROR, OFF_NO_STACK))
		j->stats->untaken_ns += s->off_ns;
}

/* In the order of begin_profile()'s sample types. */
static void make_values(const struct job *j, const struct collect_sample *s,
			int64_t out[VALUES_MAX])
{
	int64_t on = s->off_state ? 0 : (int64_t)s->count;
	int64_t on_value = on * period_of(j->window, s->event), off_ns = (int64_t)s->off_ns;

	if (j->window->n_events > 1) {
		for (size_t i = 0; i < j->window->n_events; i++)
			out[i] = i == s->event ? on_value : 0;
		return;
	}
	out[0] = j->what == NAMES_OFF ? off_ns : on;
	out[1] = j->what == NAMES_OFF ? (int64_t)s->count : on_value;
	out[2] = off_ns;
	out[3] = on_value + off_ns;
}

/* ---- samples ------------------------------------------------------------------------ */

/* Its stack, without its first @skip frames. */
static int add_stack(struct job *j, const uint32_t *refs, size_t n, size_t skip, uint32_t *out)
{
	int r = vec_reserve(&j->stack, n);

	for (size_t i = skip; i < n && r == 0; i++)
		j->stack.data[i - skip] = j->words.data[refs[i]].location;
	return r < 0 ? r : profile_add_stack(j->p, j->stack.data, n - skip, out);
}

static bool is_left_out(const struct job *j, const struct collect_sample *s, const char *reason)
{
	return j->window->locks_only && s->off_state && strcmp(reason, "futex") != 0;
}

/* @refs are the sample's @n frames. */
static int add_sample(struct job *j, const struct collect_sample *s, const uint32_t *refs, size_t n)
{
	struct profile_label labels[LABELS_MAX];
	int64_t values[VALUES_MAX];
	struct profile_sample sample = { .labels = labels, .values = values };
	const char *reason = "";
	size_t skip = 0;
	int r;

	if (s->off_state)
		reason = find_reason(j, refs, n, &skip);
	if (s->off_state)
		count_off(j, s, reason);
	if (is_left_out(j, s, reason))
		return 0;
	r = make_labels(j, collect_thread(j->c, s->thread), labels, &sample.n_labels);
	if (r == 0)
		r = add_wait_labels(j, s, reason, labels, &sample.n_labels);
	if (r == 0)
		r = add_stack(j, refs, n, skip, &sample.stack);
	if (r == 0 && !s->off_state)
		r = make_times(j, s, &sample);
	if (r < 0)
		return r;
	make_values(j, s, values);
	if (!s->off_state)
		count(j, s, refs, n);
	return profile_add_sample(j->p, &sample);
}

static int add_samples(struct job *j)
{
	size_t at = 0;
	int r = 0;

	for (size_t i = 0; i < j->n_samples && r == 0; i++) {
		const struct collect_sample *s = collect_sample(j->c, j->samples[i]);
		size_t n;

		(void)collect_stack(j->c, s->stack, &n);
		r = add_sample(j, s, j->refs.data + at, n);
		at += n;
	}
	return r;
}

/* The first is the one that OpenTelemetry wants. */
static int add_off_types(struct job *j)
{
	int r = profile_add_sample_type(j->p, "off_cpu", "nanoseconds");

	if (r == 0)
		r = profile_add_sample_type(j->p, "samples", "count");
	return r < 0 ? r : add_string(j, "off_cpu", &profile_meta(j->p)->default_sample_type);
}

/* What is counted, of event number @i, and its unit. */
static const char *type_of(const struct names_window *w, size_t i, const char **out_unit)
{
	bool is_time = i >= w->n_events || w->events[i].is_clock;

	*out_unit = is_time ? "nanoseconds" : "count";
	return is_time ? "cpu" : w->events[i].name;
}

static int add_event_types(struct job *j)
{
	int r = 0;

	for (size_t i = 0; i < j->window->n_events && r == 0; i++) {
		const char *unit, *type = type_of(j->window, i, &unit);

		r = profile_add_sample_type(j->p, type, unit);
	}
	return r;
}

static int add_types(struct job *j, const char *type, const char *unit)
{
	int r;

	if (j->what == NAMES_OFF)
		return add_off_types(j);
	if (j->window->n_events > 1)
		return add_event_types(j);
	r = profile_add_sample_type(j->p, "samples", "count");
	if (r == 0)
		r = profile_add_sample_type(j->p, type, unit);
	if (r == 0 && j->what == NAMES_WALL)
		r = profile_add_sample_type(j->p, "off_cpu", "nanoseconds");
	if (r == 0 && j->what == NAMES_WALL)
		r = profile_add_sample_type(j->p, "wall", "nanoseconds");
	return r;
}

static int add_keys(struct job *j)
{
	bool has_cpus =
		j->n_samples &&
		collect_thread(j->c, collect_sample(j->c, j->samples[0])->thread)->cpu_plus_1;
	bool has_waits = j->what != NAMES_CPU;
	const struct {
		const char *s;
		uint32_t *id;
		bool wanted;
	} keys[] = {
		{ "pid", &j->key_pid, true },        { "tid", &j->key_tid, true },
		{ "comm", &j->key_comm, true },      { "thread", &j->key_thread, true },
		{ "cpu", &j->key_cpu, has_cpus },    { "state", &j->key_state, has_waits },
		{ "wait", &j->key_wait, has_waits },
	};
	int r = 0;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && r == 0; i++)
		if (keys[i].wanted)
			r = add_string(j, keys[i].s, keys[i].id);
	return r;
}

static int begin_profile(struct job *j)
{
	struct profile_meta *meta = profile_meta(j->p);
	const char *unit, *type = type_of(j->window, 0, &unit);
	int r = add_types(j, type, unit);

	meta->time_ns = j->window->time_ns;
	meta->duration_ns = j->window->duration_ns;
	if (r == 0 && j->what != NAMES_OFF) {
		meta->period = period_of(j->window, 0);
		r = add_string(j, type, &meta->period_type.type);
		if (r == 0)
			r = add_string(j, unit, &meta->period_type.unit);
	}
	return r < 0 ? r : add_keys(j);
}

static void forget_words(struct job *j)
{
	j->words.len = 0;
	j->refs.len = 0;
	index_fini(&j->by_word);
}

static void job_fini(struct job *j)
{
	vec_fini(&j->words);
	vec_fini(&j->refs);
	vec_fini(&j->stack);
	vec_fini(&j->times);
	index_fini(&j->by_word);
}

/* The profile of the samples in work. */
static int make_profile(struct job *j, struct locator *l, struct profile **out)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	int r = profile_new(&p);

	if (r < 0)
		return r;
	j->p = p;
	r = begin_profile(j);
	if (r == 0)
		r = refer_all(j);
	if (r == 0)
		r = locator_locate(l, p, j->words.data, j->words.len);
	if (r == 0)
		r = add_samples(j);
	forget_words(j);
	if (r == 0)
		*out = steal_ptr(&p);
	return r;
}

/* Ask for the names of all words of the samples in work. */
static int learn_all(struct job *j, struct locator *l)
{
	int r = refer_all(j);

	if (r == 0)
		r = locator_learn(l, j->words.data, j->words.len);
	forget_words(j);
	return r;
}

/* All samples of the window, in @out. */
static int list_samples(const struct collect *c, uint32_t **out)
{
	size_t n = collect_n_samples(c);
	uint32_t *list = calloc(n + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		list[i] = (uint32_t)i;
	*out = list;
	return 0;
}

int names_profile(struct locator *l, const struct collect *c, const struct names_window *window,
		  struct profile **out, struct names_stats *out_stats, struct err *err)
{
	_cleanup_(freep) uint32_t *samples = NULL;
	struct job j = { .c = c, .window = window, .what = window->what, .stats = out_stats };
	int r = list_samples(c, &samples);

	*out_stats = (struct names_stats){ 0 };
	j.samples = samples;
	j.n_samples = collect_n_samples(c);
	if (r == 0)
		r = learn_all(&j, l);
	if (r == 0)
		r = make_profile(&j, l, out);
	job_fini(&j);
	return r < 0 ? err_set(err, r, "can't build the profile: %s", strerror(-r)) : 0;
}

static bool is_off(const struct collect *c, uint32_t sample)
{
	return collect_sample(c, sample)->off_state != OFF_NONE;
}

static int by_program(const void *a, const void *b, void *ctx)
{
	const struct collect *c = ctx;
	uint32_t sa = *(const uint32_t *)a, sb = *(const uint32_t *)b;
	const struct collect_thread *x = collect_thread(c, collect_sample(c, sa)->thread);
	const struct collect_thread *y = collect_thread(c, collect_sample(c, sb)->thread);

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (is_off(c, sa) != is_off(c, sb))
		return is_off(c, sb) ? -1 : 1;
	return sa < sb ? -1 : sa > sb;
}

static bool same_program(const struct collect *c, uint32_t a, uint32_t b)
{
	const struct collect_thread *x = collect_thread(c, collect_sample(c, a)->thread);
	const struct collect_thread *y = collect_thread(c, collect_sample(c, b)->thread);

	return x->pid == y->pid && x->start_ns == y->start_ns && is_off(c, a) == is_off(c, b);
}

/* Of @n sorted samples those of programs that are wanted, in front: their number. */
static size_t keep_wanted(const struct collect *c, uint32_t *samples, size_t n,
			  const struct names_to *to)
{
	size_t kept = 0, end;

	for (size_t i = 0; i < n && to->wanted; i = end) {
		uint64_t count = 0;

		for (end = i; end < n && same_program(c, samples[i], samples[end]); end++)
			count += collect_sample(c, samples[end])->count;
		if (!to->wanted(to->ctx, collect_thread(c, collect_sample(c, samples[i])->thread),
				count))
			continue;
		memmove(samples + kept, samples + i, (end - i) * sizeof(*samples));
		kept += end - i;
	}
	return to->wanted ? kept : n;
}

/* The samples in work are those of one program. */
static int one_process(struct job *j, struct locator *l, const struct names_to *to)
{
	const struct collect_sample *first = collect_sample(j->c, j->samples[0]);
	struct profile *p = NULL;
	int r;

	j->what = first->off_state ? NAMES_OFF : NAMES_CPU;
	r = make_profile(j, l, &p);
	return r < 0 ? r : to->take(to->ctx, collect_thread(j->c, first->thread), j->what, p);
}

/* The end of the part that begins at @first: whole samples of so many frames, one at least. */
static size_t part_end(const struct collect *c, const uint32_t *samples, size_t n, size_t first)
{
	size_t n_words = 0, end = first;

	while (end < n) {
		size_t n_more;

		(void)collect_stack(c, collect_sample(c, samples[end])->stack, &n_more);
		n_words += n_more;
		if (n_words > PART_WORDS && end > first)
			break;
		end++;
	}
	return end;
}

/* ---- one program after the other ------------------------------------------------------ */

struct names_run {
	struct job job;
	struct locator *locator;
	struct names_window window;
	struct names_to to;
	uint32_t *samples; /* by program */
	size_t n;
	size_t at;        /* the next program's first */
	size_t learnt_to; /* the names of those before were asked for */
};

int names_run_new(struct names_run **out, struct locator *l, const struct collect *c,
		  const struct names_window *window, const struct names_to *to,
		  struct names_stats *stats)
{
	_cleanup_(names_run_freep) struct names_run *run = calloc(1, sizeof(*run));
	int r;

	if (!run)
		return -ENOMEM;
	run->locator = l;
	run->window = *window;
	run->to = *to;
	run->job = (struct job){ .c = c, .window = &run->window, .stats = stats };
	r = list_samples(c, &run->samples);
	if (r < 0)
		return r;
	run->n = collect_n_samples(c);
	qsort_r(run->samples, run->n, sizeof(*run->samples), by_program, (void *)c);
	run->n = keep_wanted(c, run->samples, run->n, to);
	*out = steal_ptr(&run);
	return 0;
}

void names_run_free(struct names_run *run)
{
	if (!run)
		return;
	job_fini(&run->job);
	free(run->samples);
	free(run);
}

uint64_t names_run_left(const struct names_run *run)
{
	uint64_t n = 0;

	for (size_t i = run->at; i < run->n; i++)
		n += collect_sample(run->job.c, run->samples[i])->count;
	return n;
}

/* Ask for the names of the next part: 0, or 1 if it was left for later. */
static int learn_part(struct names_run *run)
{
	size_t end = part_end(run->job.c, run->samples, run->n, run->at);
	int r;

	run->job.samples = run->samples + run->at;
	run->job.n_samples = end - run->at;
	r = learn_all(&run->job, run->locator);
	if (r == 0)
		run->learnt_to = end;
	return r == -EAGAIN ? 1 : r;
}

int names_run_step(struct names_run *run)
{
	const struct collect *c = run->job.c;
	size_t end = run->at;
	int r;

	if (run->at == run->n)
		return 0;
	if (run->at == run->learnt_to) {
		r = learn_part(run);
		if (r != 0)
			return r;
	}
	while (end < run->learnt_to && same_program(c, run->samples[run->at], run->samples[end]))
		end++;
	run->job.samples = run->samples + run->at;
	run->job.n_samples = end - run->at;
	run->at = end;
	r = one_process(&run->job, run->locator, &run->to);
	return r < 0 ? r : run->at < run->n;
}
