/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two passes: first every distinct word of every stack is resolved to a location, in one
 * batch; then the samples are added, referring to these locations. A run, which makes a
 * profile per program, first looks up the unknown words of many programs in one batch, but
 * limits the number of frames per batch so that memory stays bounded.
 */
#include "symbolize/symbolize.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/vec.h"
#include "profiler/offcpu.h"
#include "profiler/sample_counts.h"
#include "profiler/wait_reason.h"
#include "sampler/events.h"
#include "symbolize/frame_symbols.h"

enum {
	NS_PER_S = 1000000000,
	BATCH_WORDS = 32 << 10, /* frames per batch; their symbols are held meanwhile */
	LABELS_MAX = 8,
	VALUES_MAX = EVENTS_MAX, /* 4 with SYMBOLIZE_WALL */
	KERNEL_NAMES_MAX = KERNEL_FRAMES_MAX,
};

struct job {
	struct profile *p;
	const struct sample_counts *c;
	const struct symbolize_window *window;
	enum symbolize_mode mode;
	const uint32_t *samples; /* indices of the window's samples to process */
	size_t n_samples;
	struct {
		VEC(struct frame_location);
	} words; /* distinct words */
	struct index by_word;
	struct {
		VEC(uint32_t);
	} refs; /* index of words for each frame of each sample, in order */
	struct {
		VEC(uint32_t);
	} stack; /* locations of the current sample */
	struct {
		VEC(uint64_t);
	} times; /* times of the current sample */
	uint32_t key_pid, key_tid, key_comm, key_thread, key_cpu, key_state, key_wait, key_unwind;
	struct symbolize_stats *stats;
	uint64_t generated_votes; /* majority vote for stats->generated_by: votes in favor minus
				     votes against */
};

struct word_key {
	const struct job *j;
	uint64_t word, start_ns;
	uint32_t pid;
};

static bool same_word(const void *ctx, uint32_t id)
{
	const struct word_key *k = ctx;
	const struct frame_location *l = &k->j->words.data[id];

	return l->word == k->word && l->pid == k->pid && l->start_ns == k->start_ns;
}

static bool is_searched_word(uint64_t word)
{
	return word >> FRAME_KIND_SHIFT != FRAME_KERNEL && word & SAMPLE_COUNTS_SEARCHED;
}

static uint64_t without_mark(uint64_t word)
{
	return is_searched_word(word) ? word & ~SAMPLE_COUNTS_SEARCHED : word;
}

static bool is_searched(const struct job *j, const struct sample_counts_sample *s)
{
	size_t n, i = 0;
	const uint64_t *words = sample_counts_stack(j->c, s->stack, &n);

	while (i < n && words[i] >> FRAME_KIND_SHIFT == FRAME_KERNEL)
		i++;
	return i < n && is_searched_word(words[i]);
}

/* Registers the frame @word. Only addresses of generated code differ by program. */
static int add_word(struct job *j, uint64_t word, const struct sample_counts_thread *program)
{
	bool differs = word >> FRAME_KIND_SHIFT == FRAME_ADDRESS;
	struct word_key key = { j, word, differs ? program->start_ns : 0,
				differs ? program->pid : 0 };
	uint32_t hash = hash_u64(word ^ key.start_ns ^ (uint64_t)key.pid << 32), id;
	int r = 0;

	if (!index_find(&j->by_word, hash, same_word, &key, &id)) {
		id = (uint32_t)j->words.len;
		r = vec_push(&j->words, (struct frame_location){ .word = word,
								 .start_ns = key.start_ns,
								 .pid = key.pid });
		if (r == 0)
			r = index_add(&j->by_word, hash, id);
	}
	return r < 0 ? r : vec_push(&j->refs, id);
}

/*
 * Appends one reference per frame to refs, in the order of the samples, so that later passes walk
 * the samples and refs in parallel.
 */
static int add_words(struct job *j)
{
	int r = 0;

	for (size_t i = 0; i < j->n_samples; i++) {
		const struct sample_counts_sample *s = sample_counts_sample(j->c, j->samples[i]);
		const struct sample_counts_thread *t = sample_counts_thread(j->c, s->thread);
		size_t n;
		const uint64_t *words = sample_counts_stack(j->c, s->stack, &n);

		for (size_t k = 0; k < n && r == 0; k++)
			r = add_word(j, without_mark(words[k]), t);
	}
	return r;
}

static int add_string(struct job *j, const char *s, uint32_t *out)
{
	return profile_add_string(j->p, s, strlen(s), out);
}

/* The arrays of labels have room for all labels of a sample; *@out_n is the number that applies. */
static int make_labels(struct job *j, const struct sample_counts_thread *t,
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

/* Interpreted and generated code is more specific about a program's language than native code. */
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

/*
 * Counts a sample with unknown generated code. A majority vote (Boyer and Moore) finds the
 * program that has more than half of them.
 */
static void count_generated(struct job *j, const struct sample_counts_sample *s)
{
	struct symbolize_stats *st = j->stats;
	const char *comm = sample_counts_thread(j->c, s->thread)->process_comm;

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

/*
 * Updates the statistics with the frames of a sample, @n references. A stack that ends early has an
 * error word as its outermost frame, whose payload is the reason.
 */
static void count(struct job *j, const struct sample_counts_sample *s, const uint32_t *refs,
		  size_t n)
{
	bool has_generated = false, is_approximate = false;
	uint8_t kind = PROFILE_FRAME_UNKNOWN;
	uint64_t last = n ? j->words.data[refs[n - 1]].word : 0, error = WALK_OK;

	for (size_t i = 0; i < n; i++) {
		const struct frame_location *w = &j->words.data[refs[i]];

		if (kind_rank(w->kind) > kind_rank(kind))
			kind = w->kind;
		j->stats->n_frames += w->kind != PROFILE_FRAME_ERROR ? s->count : 0;
		if (w->lost) {
			j->stats->n_unnamed += s->count;
			j->stats->names_lost[w->lost] += s->count;
		}
		is_approximate |= w->is_approximate;
		has_generated |= w->lost && w->word >> FRAME_KIND_SHIFT == FRAME_ADDRESS;
	}
	j->stats->n_approximate += is_approximate ? s->count : 0;
	if (has_generated)
		count_generated(j, s);
	if (last >> FRAME_KIND_SHIFT == FRAME_ERROR && (last & FRAME_PAYLOAD_MASK) < WALK_ERR_MAX)
		error = last & FRAME_PAYLOAD_MASK;
	if (error == WALK_OK && is_searched(j, s))
		j->stats->searched_by_kind[kind] += s->count;
	else
		j->stats->by_kind[kind][error] += s->count;
	j->stats->by_event[s->event] += s->count;
}

/* Fills in the times of a sample, oldest first, as wall clock time. */
static int make_times(struct job *j, const struct sample_counts_sample *s,
		      struct profile_sample *out)
{
	uint64_t *t;
	int r = vec_reserve(&j->times, s->count);

	if (r < 0)
		return r;
	t = j->times.data;
	out->n_times = (uint32_t)sample_counts_times(j->c, s, t);
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

/* The weight of one sample of the event: its period, or the sampling interval in ns. */
static int64_t period_of(const struct symbolize_window *w, size_t event)
{
	if (event < w->n_events && w->events[event].period)
		return (int64_t)w->events[event].period;
	return NS_PER_S / w->freq_hz;
}

/* ---- waits ----------------------------------------------------------------------- */

/* Name of a location's innermost function, or "". */
static const char *name_of(const struct job *j, uint32_t location)
{
	struct profile_location l = profile_location(j->p, location);

	if (!l.n_lines)
		return "";
	return profile_string(j->p, profile_function(j->p, l.lines[0].function)->name);
}

/*
 * Finds out from the stack why a thread waits. *@out_skip is the number of frames that are
 * not the thread's own.
 */
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
	*out_skip = wait_reason_skip_frames(names, n_names);
	return wait_reason_find(names + *out_skip, n_names - *out_skip);
}

/* cgroup v2 freezes tasks by an ordinary sleep; only the stack shows it. */
static const char *state_name(const struct sample_counts_sample *s, const char *reason)
{
	if (!s->off_state)
		return "running";
	if (s->off_state == OFF_SLEEPING && !strcmp(reason, "frozen"))
		return offcpu_state_text(OFF_FROZEN);
	return offcpu_state_text(s->off_state);
}

/*
 * Adds state and, for a wait with a known cause, wait. Profiles of CPU time alone have neither
 * label, as every sample of theirs is running.
 */
static int add_wait_labels(struct job *j, const struct sample_counts_sample *s, const char *reason,
			   struct profile_label labels[LABELS_MAX], uint32_t *io_n)
{
	int r;

	if (j->mode == SYMBOLIZE_CPU)
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

/* The label unwind=search of a stack in which a caller was found by search. */
static int add_unwind_label(struct job *j, const struct sample_counts_sample *s,
			    struct profile_label labels[LABELS_MAX], uint32_t *io_n)
{
	if (!is_searched(j, s))
		return 0;
	labels[*io_n] = (struct profile_label){ .key = j->key_unwind };
	return add_string(j, "search", &labels[(*io_n)++].str);
}

/* A stack that consists of a single error word stands for waits whose stack was not recorded. */
static void count_off(struct job *j, const struct sample_counts_sample *s, const char *reason)
{
	size_t n;
	const uint64_t *words = sample_counts_stack(j->c, s->stack, &n);

	j->stats->off_ns += s->off_ns;
	if (!strcmp(reason, "futex"))
		j->stats->futex_ns += s->off_ns;
	if (n == 1 && words[0] == FRAME_WORD(FRAME_ERROR, OFFCPU_ERR_NO_STACK))
		j->stats->no_stack_ns += s->off_ns;
}

/* In the order of the sample types in add_types(). */
static void make_values(const struct job *j, const struct sample_counts_sample *s,
			int64_t out[VALUES_MAX])
{
	int64_t running = s->off_state ? 0 : (int64_t)s->count;
	int64_t on_value = running * period_of(j->window, s->event), off_ns = (int64_t)s->off_ns;

	if (j->window->n_events > 1) {
		for (size_t i = 0; i < j->window->n_events; i++)
			out[i] = i == s->event ? on_value : 0;
		return;
	}
	out[0] = j->mode == SYMBOLIZE_OFF ? off_ns : running;
	out[1] = j->mode == SYMBOLIZE_OFF ? (int64_t)s->count : on_value;
	out[2] = off_ns;
	out[3] = on_value + off_ns;
}

/* ---- samples --------------------------------------------------------------------- */

/* Adds a stack without its first @skip frames. */
static int add_stack(struct job *j, const uint32_t *refs, size_t n, size_t skip, uint32_t *out)
{
	int r = vec_reserve(&j->stack, n);

	for (size_t i = skip; i < n && r == 0; i++)
		j->stack.data[i - skip] = j->words.data[refs[i]].location;
	return r < 0 ? r : profile_add_stack(j->p, j->stack.data, n - skip, out);
}

/* With locks_only, CPU time and waits for locks remain. */
static bool is_excluded(const struct job *j, const struct sample_counts_sample *s,
			const char *reason)
{
	return j->window->locks_only && s->off_state && strcmp(reason, "futex") != 0;
}

/* @refs are the @n frames of the sample. */
static int add_sample(struct job *j, const struct sample_counts_sample *s, const uint32_t *refs,
		      size_t n)
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
	if (is_excluded(j, s, reason))
		return 0;
	r = make_labels(j, sample_counts_thread(j->c, s->thread), labels, &sample.n_labels);
	if (r == 0)
		r = add_wait_labels(j, s, reason, labels, &sample.n_labels);
	if (r == 0)
		r = add_unwind_label(j, s, labels, &sample.n_labels);
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

/*
 * Each sample has as many references as its stack has words, in the order in which add_words()
 * appended them.
 */
static int add_samples(struct job *j)
{
	size_t at = 0;
	int r = 0;

	for (size_t i = 0; i < j->n_samples && r == 0; i++) {
		const struct sample_counts_sample *s = sample_counts_sample(j->c, j->samples[i]);
		size_t n;

		(void)sample_counts_stack(j->c, s->stack, &n);
		r = add_sample(j, s, j->refs.data + at, n);
		at += n;
	}
	return r;
}

/* off_cpu comes first, as OpenTelemetry expects. */
static int add_off_types(struct job *j)
{
	int r = profile_add_sample_type(j->p, "off_cpu", "nanoseconds");

	if (r == 0)
		r = profile_add_sample_type(j->p, "samples", "count");
	return r < 0 ? r : add_string(j, "off_cpu", &profile_meta(j->p)->default_sample_type);
}

/* Sample type and unit of event number @i. */
static const char *type_of(const struct symbolize_window *w, size_t i, const char **out_unit)
{
	bool is_time = i >= w->n_events || w->events[i].is_clock;

	*out_unit = is_time ? "nanoseconds" : "count";
	return is_time ? "cpu" : w->events[i].name;
}

/*
 * With several events there is no type "samples": their counts are different things and have no
 * sum.
 */
static int add_event_types(struct job *j)
{
	int r = 0;

	for (size_t i = 0; i < j->window->n_events && r == 0; i++) {
		const char *unit, *type = type_of(j->window, i, &unit);

		r = profile_add_sample_type(j->p, type, unit);
	}
	return r;
}

/* make_values() fills in the values in this order. */
static int add_types(struct job *j, const char *type, const char *unit)
{
	int r;

	if (j->mode == SYMBOLIZE_OFF)
		return add_off_types(j);
	if (j->window->n_events > 1)
		return add_event_types(j);
	r = profile_add_sample_type(j->p, "samples", "count");
	if (r == 0)
		r = profile_add_sample_type(j->p, type, unit);
	if (r == 0 && j->mode == SYMBOLIZE_WALL)
		r = profile_add_sample_type(j->p, "off_cpu", "nanoseconds");
	if (r == 0 && j->mode == SYMBOLIZE_WALL)
		r = profile_add_sample_type(j->p, "wall", "nanoseconds");
	return r;
}

/*
 * Keys are added only if a sample can have the label, because pprof readers list all strings.
 * Either all samples of a window have a CPU or none has, so the first one decides.
 */
static int add_keys(struct job *j)
{
	bool has_cpus =
		j->n_samples &&
		sample_counts_thread(j->c, sample_counts_sample(j->c, j->samples[0])->thread)
			->cpu_plus_1;
	bool has_waits = j->mode != SYMBOLIZE_CPU;
	const struct {
		const char *s;
		uint32_t *id;
		bool filter;
	} keys[] = {
		{ "pid", &j->key_pid, true },        { "tid", &j->key_tid, true },
		{ "comm", &j->key_comm, true },      { "thread", &j->key_thread, true },
		{ "cpu", &j->key_cpu, has_cpus },    { "state", &j->key_state, has_waits },
		{ "wait", &j->key_wait, has_waits }, { "unwind", &j->key_unwind, true },
	};
	int r = 0;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && r == 0; i++)
		if (keys[i].filter)
			r = add_string(j, keys[i].s, keys[i].id);
	return r;
}

/* Waits are measured and not sampled, so their profiles have no period. */
static int begin_profile(struct job *j)
{
	struct profile_meta *meta = profile_meta(j->p);
	const char *unit, *type = type_of(j->window, 0, &unit);
	int r = add_types(j, type, unit);

	meta->time_ns = j->window->time_ns;
	meta->duration_ns = j->window->duration_ns;
	if (r == 0 && j->mode != SYMBOLIZE_OFF) {
		meta->period = period_of(j->window, 0);
		r = add_string(j, type, &meta->period_type.type);
		if (r == 0)
			r = add_string(j, unit, &meta->period_type.unit);
	}
	return r < 0 ? r : add_keys(j);
}

/* Keeps the memory of the vectors for the next batch or program. */
static void clear_words(struct job *j)
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

/* Builds the profile of the current samples. */
static int make_profile(struct job *j, struct frame_symbols *l, struct profile **out)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	int r = profile_new(&p);

	if (r < 0)
		return r;
	j->p = p;
	r = begin_profile(j);
	if (r == 0)
		r = add_words(j);
	if (r == 0)
		r = frame_symbols_resolve(l, p, j->words.data, j->words.len);
	if (r == 0)
		r = add_samples(j);
	clear_words(j);
	if (r == 0)
		*out = steal_ptr(&p);
	return r;
}

/* Looks up all words of the current samples. */
static int look_up_words(struct job *j, struct frame_symbols *l)
{
	int r = add_words(j);

	if (r == 0)
		r = frame_symbols_prefetch(l, j->words.data, j->words.len);
	clear_words(j);
	return r;
}

/* Lists all samples of the window. */
static int list_samples(const struct sample_counts *c, uint32_t **out)
{
	size_t n = sample_counts_n_samples(c);
	uint32_t *list = calloc(n + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		list[i] = (uint32_t)i;
	*out = list;
	return 0;
}

int symbolize_profile(struct frame_symbols *l, const struct sample_counts *c,
		      const struct symbolize_window *window, struct profile **out,
		      struct symbolize_stats *out_stats, struct err *err)
{
	_cleanup_(freep) uint32_t *samples = NULL;
	struct job j = { .c = c, .window = window, .mode = window->mode, .stats = out_stats };
	int r = list_samples(c, &samples);

	*out_stats = (struct symbolize_stats){ 0 };
	j.samples = samples;
	j.n_samples = sample_counts_n_samples(c);
	if (r == 0)
		r = look_up_words(&j, l);
	if (r == 0)
		r = make_profile(&j, l, out);
	job_fini(&j);
	return r < 0 ? err_set(err, r, "cannot build the profile: %s", strerror(-r)) : 0;
}

static bool is_off(const struct sample_counts *c, uint32_t sample)
{
	return sample_counts_sample(c, sample)->off_state != OFF_NONE;
}

/*
 * Waits of a program sort after its samples on the CPU, so that both are contiguous and each
 * becomes a profile. The index makes the order total and the output reproducible.
 */
static int by_program(const void *a, const void *b, void *ctx)
{
	const struct sample_counts *c = ctx;
	uint32_t sa = *(const uint32_t *)a, sb = *(const uint32_t *)b;
	const struct sample_counts_thread *x =
		sample_counts_thread(c, sample_counts_sample(c, sa)->thread);
	const struct sample_counts_thread *y =
		sample_counts_thread(c, sample_counts_sample(c, sb)->thread);

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (is_off(c, sa) != is_off(c, sb))
		return is_off(c, sb) ? -1 : 1;
	return sa < sb ? -1 : sa > sb;
}

/* Equality in the sense of by_program(). */
static bool same_program(const struct sample_counts *c, uint32_t a, uint32_t b)
{
	const struct sample_counts_thread *x =
		sample_counts_thread(c, sample_counts_sample(c, a)->thread);
	const struct sample_counts_thread *y =
		sample_counts_thread(c, sample_counts_sample(c, b)->thread);

	return x->pid == y->pid && x->start_ns == y->start_ns && is_off(c, a) == is_off(c, b);
}

/*
 * Moves the samples of programs that pass the filter to the front; returns their number. The
 * samples are sorted by program.
 */
static size_t apply_filter(const struct sample_counts *c, uint32_t *samples, size_t n,
			   const struct symbolize_sink *sink)
{
	size_t kept = 0, end;

	for (size_t i = 0; i < n && sink->filter; i = end) {
		uint64_t count = 0;

		for (end = i; end < n && same_program(c, samples[i], samples[end]); end++)
			count += sample_counts_sample(c, samples[end])->count;
		if (!sink->filter(
			    sink->ctx,
			    sample_counts_thread(c, sample_counts_sample(c, samples[i])->thread),
			    count))
			continue;
		memmove(samples + kept, samples + i, (end - i) * sizeof(*samples));
		kept += end - i;
	}
	return sink->filter ? kept : n;
}

/* Builds and delivers the profile of one program, to which all current samples belong. */
static int output_program(struct job *j, struct frame_symbols *l, const struct symbolize_sink *sink)
{
	const struct sample_counts_sample *first = sample_counts_sample(j->c, j->samples[0]);
	struct profile *p = NULL;
	int r;

	j->mode = first->off_state ? SYMBOLIZE_OFF : SYMBOLIZE_CPU;
	r = make_profile(j, l, &p);
	return r < 0 ? r
		     : sink->output(sink->ctx, sample_counts_thread(j->c, first->thread), j->mode,
				    p);
}

/*
 * End of the batch that begins at sample @first: whole samples with at most BATCH_WORDS frames in
 * total, but at least one sample.
 */
static size_t batch_end(const struct sample_counts *c, const uint32_t *samples, size_t n,
			size_t first)
{
	size_t n_words = 0, end = first;

	while (end < n) {
		size_t n_more;

		(void)sample_counts_stack(c, sample_counts_sample(c, samples[end])->stack, &n_more);
		n_words += n_more;
		if (n_words > BATCH_WORDS && end > first)
			break;
		end++;
	}
	return end;
}

/* ---- one program after another --------------------------------------------------- */

struct symbolize_run {
	struct job job;
	struct frame_symbols *frame_symbols;
	struct symbolize_window window;
	struct symbolize_sink sink;
	uint32_t *samples; /* sorted by program */
	size_t n;
	size_t at;           /* first sample of the next program */
	size_t looked_up_to; /* samples before this one have been looked up */
};

int symbolize_run_new(struct symbolize_run **out, struct frame_symbols *l,
		      const struct sample_counts *c, const struct symbolize_window *window,
		      const struct symbolize_sink *sink, struct symbolize_stats *stats)
{
	_cleanup_(symbolize_run_freep) struct symbolize_run *run = calloc(1, sizeof(*run));
	int r;

	if (!run)
		return -ENOMEM;
	run->frame_symbols = l;
	run->window = *window;
	run->sink = *sink;
	run->job = (struct job){ .c = c, .window = &run->window, .stats = stats };
	r = list_samples(c, &run->samples);
	if (r < 0)
		return r;
	run->n = sample_counts_n_samples(c);
	qsort_r(run->samples, run->n, sizeof(*run->samples), by_program, (void *)c);
	run->n = apply_filter(c, run->samples, run->n, sink);
	*out = steal_ptr(&run);
	return 0;
}

void symbolize_run_free(struct symbolize_run *run)
{
	if (!run)
		return;
	job_fini(&run->job);
	free(run->samples);
	free(run);
}

uint64_t symbolize_run_n_remaining(const struct symbolize_run *run)
{
	uint64_t n = 0;

	for (size_t i = run->at; i < run->n; i++)
		n += sample_counts_sample(run->job.c, run->samples[i])->count;
	return n;
}

/* Looks up the words of the next batch. Returns 0, 1 if it yielded with work left, or -errno. */
static int look_up_batch(struct symbolize_run *run)
{
	size_t end = batch_end(run->job.c, run->samples, run->n, run->at);
	int r;

	run->job.samples = run->samples + run->at;
	run->job.n_samples = end - run->at;
	r = look_up_words(&run->job, run->frame_symbols);
	if (r == 0)
		run->looked_up_to = end;
	return r == -EAGAIN ? 1 : r;
}

int symbolize_run_step(struct symbolize_run *run)
{
	const struct sample_counts *c = run->job.c;
	size_t end = run->at;
	int r;

	if (run->at == run->n)
		return 0;
	if (run->at == run->looked_up_to) {
		r = look_up_batch(run);
		if (r != 0)
			return r;
	}
	while (end < run->looked_up_to && same_program(c, run->samples[run->at], run->samples[end]))
		end++;
	run->job.samples = run->samples + run->at;
	run->job.n_samples = end - run->at;
	run->at = end;
	r = output_program(&run->job, run->frame_symbols, &run->sink);
	return r < 0 ? r : run->at < run->n;
}
