/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two passes: first every distinct word of every stack is resolved to a location, in one
 * batch; then the samples are added, referring to these locations. Stacks of a window share most
 * of their frames, so resolving words instead of frames saves most of the work.
 */
#include "symbolize/profile_builder.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/index.h"
#include "base/vec.h"
#include "lang/context/labels.h"
#include "profile/profile.h"
#include "profiler/off_texts.h"
#include "profiler/resident.h"
#include "profiler/sample_counts.h"
#include "profiler/wakers.h"
#include "sampler/events.h"
#include "symbolize/frame_symbols.h"
#include "symbolize/sample_types.h"
#include "symbolize/symbolize_stats.h"
#include "symbolize/wait_frames.h"

enum {
	NS_PER_S = 1000000000,
	LABELS_OWN = 8, /* of the thread and the wait */
	LABELS_MAX = LABELS_OWN + CONTEXT_SET_MAX,
};

struct profile_builder {
	struct frame_symbols *symbols;
	const struct sample_counts *c;
	const struct symbolize_window *window;
	struct symbolize_stats *stats;

	enum symbolize_mode mode;
	const uint32_t *samples; /* indices of the selected samples of the window */
	size_t n_samples;

	struct profile *p; /* borrowed; the profile being built */
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
	uint32_t key_pid, key_tid, key_comm, key_thread, key_cpu, key_state, key_wait, key_unwind,
		key_memory;
};

struct word_key {
	const struct profile_builder *b;
	uint64_t word, start_ns;
	uint32_t pid;
};

static bool same_word(const void *ctx, uint32_t id)
{
	const struct word_key *k = ctx;
	const struct frame_location *l = &k->b->words.data[id];

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

static bool is_searched(const struct profile_builder *b, const struct sample_counts_sample *s)
{
	size_t n, i;
	const uint64_t *words = sample_counts_stack(b->c, s->stack, &n);

	i = wakers_n_words(words, n);
	while (i < n && words[i] >> FRAME_KIND_SHIFT == FRAME_KERNEL)
		i++;
	return i < n && is_searched_word(words[i]);
}

/* Registers the frame @word. Only addresses of generated code differ by program. */
static int add_word(struct profile_builder *b, uint64_t word,
		    const struct sample_counts_thread *program)
{
	bool differs = word >> FRAME_KIND_SHIFT == FRAME_ADDRESS;
	struct word_key key = { b, word, differs ? program->start_ns : 0,
				differs ? program->pid : 0 };
	uint32_t hash = hash_pair(word, key.start_ns ^ (uint64_t)key.pid << 32), id;
	int r = 0;

	if (!index_find(&b->by_word, hash, same_word, &key, &id)) {
		id = (uint32_t)b->words.len;
		r = vec_push(&b->words, (struct frame_location){ .word = word,
								 .start_ns = key.start_ns,
								 .pid = key.pid });
		if (r == 0)
			r = index_add(&b->by_word, hash, id);
	}
	return r < 0 ? r : vec_push(&b->refs, id);
}

/*
 * The program of the frames from @at on, up to the next divider: that of the waker which follows
 * them, or @own.
 */
static const struct sample_counts_thread *program_at(const struct profile_builder *b,
						     const uint64_t *words, size_t n, size_t at,
						     const struct sample_counts_thread *own)
{
	for (; at < n; at++)
		if (words[at] >> FRAME_KIND_SHIFT == FRAME_WAKER)
			return sample_counts_thread(b->c, WAKER_THREAD(words[at]));
	return own;
}

/*
 * Appends one reference per frame to refs, in the order of the samples, so that later passes walk
 * the samples and refs in parallel.
 */
static int add_words(struct profile_builder *b)
{
	int r = 0;

	for (size_t i = 0; i < b->n_samples; i++) {
		const struct sample_counts_sample *s = sample_counts_sample(b->c, b->samples[i]);
		const struct sample_counts_thread *own = sample_counts_thread(b->c, s->thread), *t;
		size_t n;
		const uint64_t *words = sample_counts_stack(b->c, s->stack, &n);

		t = program_at(b, words, n, 0, own);
		for (size_t k = 0; k < n && r == 0; k++) {
			r = add_word(b, without_mark(words[k]), t);
			if (words[k] >> FRAME_KIND_SHIFT == FRAME_WAKER)
				t = program_at(b, words, n, k + 1, own);
		}
	}
	return r;
}

static int add_string(struct profile_builder *b, const char *s, uint32_t *out)
{
	return profile_add_string(b->p, s, strlen(s), out);
}

/* The arrays of labels have room for all labels of a sample; *@out_n is the number that applies. */
static int make_labels(struct profile_builder *b, const struct sample_counts_thread *t,
		       struct profile_label out[LABELS_MAX], uint32_t *out_n)
{
	char thread[sizeof(t->comm) + 16];
	int r;

	out[0] = (struct profile_label){ .key = b->key_pid, .num = t->pid };
	out[1] = (struct profile_label){ .key = b->key_tid, .num = t->tid };
	out[2] = (struct profile_label){ .key = b->key_comm };
	out[3] = (struct profile_label){ .key = b->key_thread };
	out[4] = (struct profile_label){ .key = b->key_cpu, .num = (int64_t)t->cpu_plus_1 - 1 };
	*out_n = t->cpu_plus_1 ? 5 : 4;
	snprintf(thread, sizeof(thread), b->window->per_thread ? "%s-%u" : "%s", t->comm, t->tid);
	r = add_string(b, t->process_comm, &out[2].str);
	return r < 0 ? r : add_string(b, thread, &out[3].str);
}

/* Fills in the times of a sample, oldest first, as wall clock time. */
static int make_times(struct profile_builder *b, const struct sample_counts_sample *s,
		      struct profile_sample *out)
{
	uint64_t *t;
	int r = vec_reserve(&b->times, s->count);

	if (r < 0)
		return r;
	t = b->times.data;
	out->n_times = (uint32_t)sample_counts_times(b->c, s, t);
	out->times = t;
	for (uint32_t i = 0; i < out->n_times; i++)
		t[i] += (uint64_t)b->window->clock_offset_ns;
	for (uint32_t i = 0; i < out->n_times / 2; i++) {
		uint64_t swapped = t[i];

		t[i] = t[out->n_times - 1 - i];
		t[out->n_times - 1 - i] = swapped;
	}
	return 0;
}

/* ---- waits ----------------------------------------------------------------------- */

static struct wait_frames wait_frames_of(const struct profile_builder *b)
{
	return (struct wait_frames){ .p = b->p, .words = b->words.data, .counts = b->c };
}

static bool has_waits(enum symbolize_mode mode)
{
	return mode == SYMBOLIZE_OFF || mode == SYMBOLIZE_WALL;
}

/*
 * Returns the number of innermost frames that belong to the page-fault exception and to its
 * recording, rather than to what touched the page.
 */
static size_t exception_frames(const struct profile_builder *b, const uint32_t *refs, size_t n)
{
	enum { EXCEPTION_FRAMES_MAX = 12 };
	const struct wait_frames f = wait_frames_of(b);

	for (size_t i = 0; i < n && i < EXCEPTION_FRAMES_MAX; i++) {
		const struct frame_location *l = &b->words.data[refs[i]];

		if (l->kind != PROFILE_FRAME_KERNEL)
			break;
		if (!strcmp(wait_frames_name(&f, l->location), "asm_exc_page_fault"))
			return i + 1;
	}
	return 0;
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
 * label, because all of their samples are of running threads.
 */
static int add_wait_labels(struct profile_builder *b, const struct sample_counts_sample *s,
			   const char *reason, struct profile_label labels[LABELS_MAX],
			   uint32_t *io_n)
{
	int r;

	if (!has_waits(b->mode))
		return 0;
	labels[*io_n] = (struct profile_label){ .key = b->key_state };
	r = add_string(b, state_name(s, reason), &labels[*io_n].str);
	(*io_n)++;
	if (r < 0 || !s->off_state || !reason[0])
		return r;
	labels[*io_n] = (struct profile_label){ .key = b->key_wait };
	r = add_string(b, reason, &labels[*io_n].str);
	(*io_n)++;
	return r;
}

/* Adds the label unwind=search to a stack in which a caller was found by search. */
static int add_unwind_label(struct profile_builder *b, const struct sample_counts_sample *s,
			    struct profile_label labels[LABELS_MAX], uint32_t *io_n)
{
	if (!is_searched(b, s))
		return 0;
	labels[*io_n] = (struct profile_label){ .key = b->key_unwind };
	return add_string(b, "search", &labels[(*io_n)++].str);
}

/* Adds the label memory, the kind of memory, in a profile of resident memory. */
static int add_memory_label(struct profile_builder *b, const struct sample_counts_sample *s,
			    struct profile_label labels[LABELS_MAX], uint32_t *io_n)
{
	const char *kind = s->memory == RESIDENT_FILE ? "file" : "anonymous";

	if (!s->memory)
		return 0;
	labels[*io_n] = (struct profile_label){ .key = b->key_memory };
	return add_string(b, kind, &labels[(*io_n)++].str);
}

/* True if Cameo's labels have this key, which a program's own label must not replace. */
static bool is_own_key(const char *key)
{
	static const char *const own[] = { "pid",   "tid",  "comm",   "thread", "cpu",
					   "state", "wait", "unwind", "memory" };

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (!strcmp(key, own[i]))
			return true;
	return false;
}

/* Adds the labels that the program has published. */
static int add_context_labels(struct profile_builder *b, const struct sample_counts_sample *s,
			      struct profile_label labels[LABELS_MAX], uint32_t *io_n)
{
	const struct sample_labels all = sample_counts_labels(b->c, s);
	const char *key, *value;
	size_t at = 0;
	int r = 0;

	while (r == 0 && *io_n < LABELS_MAX &&
	       context_set_next(all.text, all.len, &at, &key, &value)) {
		struct profile_label *l = &labels[*io_n];

		if (is_own_key(key) || (b->window->span_ids_only && strcmp(key, "span_id") != 0))
			continue;
		*l = (struct profile_label){ 0 };
		r = add_string(b, key, &l->key);
		if (r == 0)
			r = add_string(b, value, &l->str);
		*io_n += l->str != 0;
	}
	return r;
}

/* A stack that consists of a single error word stands for waits whose stack was not recorded. */
static void count_off(struct profile_builder *b, const struct sample_counts_sample *s,
		      const char *reason)
{
	size_t n;
	const uint64_t *words = sample_counts_stack(b->c, s->stack, &n);

	b->stats->off_ns += s->off_ns;
	if (!strcmp(reason, "futex"))
		b->stats->futex_ns += s->off_ns;
	if (n == 1 && words[0] == FRAME_WORD(FRAME_ERROR, OFFCPU_ERR_NO_STACK))
		b->stats->no_stack_ns += s->off_ns;
	else if (n && words[0] == FRAME_WORD(FRAME_ERROR, OFFCPU_ERR_NOT_WOKEN))
		b->stats->not_woken_ns += s->off_ns;
}

/* ---- samples --------------------------------------------------------------------- */

/*
 * Adds a stack of @n frames. The first @n_wakers frames belong to wakers; the next @skip frames are
 * omitted.
 */
static int add_stack(struct profile_builder *b, const struct sample_counts_sample *s,
		     const uint32_t *refs, size_t n, size_t n_wakers, size_t skip, uint32_t *out)
{
	const struct wait_frames f = wait_frames_of(b);
	bool is_unknown = false;
	size_t at = 0;
	int r = vec_reserve(&b->stack, n);

	if (r == 0 && n_wakers)
		r = wait_frames_wakers(&f, refs, n_wakers, b->stack.data, &at, &is_unknown);
	if (is_unknown)
		b->stats->no_waker_ns += s->off_ns;
	for (size_t i = n_wakers + skip; i < n && r == 0; i++)
		b->stack.data[at++] = b->words.data[refs[i]].location;
	return r < 0 ? r : profile_add_stack(b->p, b->stack.data, at, out);
}

static void count_on(struct profile_builder *b, const struct sample_counts_sample *s,
		     const uint32_t *refs, size_t n)
{
	const struct symbolize_stats_sample sample = {
		.words = b->words.data,
		.refs = refs,
		.n = n,
		.comm = sample_counts_thread(b->c, s->thread)->process_comm,
		.count = s->count,
		.event = s->event,
		.is_searched = is_searched(b, s),
	};

	symbolize_stats_count(b->stats, &sample);
}

/* With locks_only, CPU time and waits for locks remain. */
static bool is_excluded(const struct profile_builder *b, const struct sample_counts_sample *s,
			const char *reason)
{
	return b->window->locks_only && s->off_state && strcmp(reason, "futex") != 0;
}

static size_t count_waker_frames(const struct profile_builder *b,
				 const struct sample_counts_sample *s)
{
	size_t n;
	const uint64_t *words = sample_counts_stack(b->c, s->stack, &n);

	return wakers_n_words(words, n);
}

/* @refs are the @n frames of the sample. */
static int add_sample(struct profile_builder *b, const struct sample_counts_sample *s,
		      const uint32_t *refs, size_t n)
{
	struct profile_label labels[LABELS_MAX];
	int64_t values[SAMPLE_VALUES_MAX];
	struct profile_sample sample = { .labels = labels, .values = values };
	const struct wait_frames waits = wait_frames_of(b);
	const char *reason = "";
	size_t skip = 0, n_wakers = 0;
	int r;

	if (s->off_state) {
		n_wakers = count_waker_frames(b, s);
		reason = wait_frames_reason(&waits, refs + n_wakers, n - n_wakers, &skip);
	}
	if (s->off_state)
		count_off(b, s, reason);
	if (s->memory)
		skip = exception_frames(b, refs, n);
	if (is_excluded(b, s, reason))
		return 0;
	r = make_labels(b, sample_counts_thread(b->c, s->thread), labels, &sample.n_labels);
	if (r == 0)
		r = add_wait_labels(b, s, reason, labels, &sample.n_labels);
	if (r == 0)
		r = add_memory_label(b, s, labels, &sample.n_labels);
	if (r == 0)
		r = add_unwind_label(b, s, labels, &sample.n_labels);
	if (r == 0)
		r = add_context_labels(b, s, labels, &sample.n_labels);
	if (r == 0)
		r = add_stack(b, s, refs, n, n_wakers, skip, &sample.stack);
	if (r == 0 && !s->off_state)
		r = make_times(b, s, &sample);
	if (r < 0)
		return r;
	sample_types_values(b->mode, b->window, s, values);
	if (!s->off_state)
		count_on(b, s, refs, n);
	return profile_add_sample(b->p, &sample);
}

/*
 * Each sample has as many references as its stack has words, in the order in which add_words()
 * appended them.
 */
static int add_samples(struct profile_builder *b)
{
	size_t at = 0;
	int r = 0;

	for (size_t i = 0; i < b->n_samples && r == 0; i++) {
		const struct sample_counts_sample *s = sample_counts_sample(b->c, b->samples[i]);
		size_t n;

		(void)sample_counts_stack(b->c, s->stack, &n);
		r = add_sample(b, s, b->refs.data + at, n);
		at += n;
	}
	return r;
}

/*
 * Keys are added only if a sample can have the label, because pprof readers list all strings.
 * Either all samples of a window have a CPU or none has, so the first one decides.
 */
static int add_keys(struct profile_builder *b)
{
	bool has_cpus =
		b->n_samples &&
		sample_counts_thread(b->c, sample_counts_sample(b->c, b->samples[0])->thread)
			->cpu_plus_1;
	bool waits = has_waits(b->mode), memory = b->mode == SYMBOLIZE_RESIDENT;
	const struct {
		const char *s;
		uint32_t *id;
		bool filter;
	} keys[] = {
		{ "pid", &b->key_pid, true },         { "tid", &b->key_tid, true },
		{ "comm", &b->key_comm, true },       { "thread", &b->key_thread, true },
		{ "cpu", &b->key_cpu, has_cpus },     { "state", &b->key_state, waits },
		{ "wait", &b->key_wait, waits },      { "unwind", &b->key_unwind, true },
		{ "memory", &b->key_memory, memory },
	};
	int r = 0;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && r == 0; i++)
		if (keys[i].filter)
			r = add_string(b, keys[i].s, keys[i].id);
	return r;
}

static int begin_profile(struct profile_builder *b)
{
	struct profile_meta *meta = profile_meta(b->p);
	int r = sample_types_add(b->p, b->mode, b->window);

	meta->time_ns = b->window->time_ns;
	meta->duration_ns = b->window->duration_ns;
	if (r == 0)
		r = sample_types_set_period(b->p, b->mode, b->window);
	return r < 0 ? r : add_keys(b);
}

/* Keeps the memory of the vectors for the next batch or program. */
static void clear_words(struct profile_builder *b)
{
	b->words.len = 0;
	b->refs.len = 0;
	index_fini(&b->by_word);
}

int profile_builder_new(struct profile_builder **out, struct frame_symbols *symbols,
			const struct sample_counts *c, const struct symbolize_window *window,
			struct symbolize_stats *stats)
{
	struct profile_builder *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->symbols = symbols;
	b->c = c;
	b->window = window;
	b->stats = stats;
	*out = b;
	return 0;
}

void profile_builder_free(struct profile_builder *b)
{
	if (!b)
		return;
	vec_fini(&b->words);
	vec_fini(&b->refs);
	vec_fini(&b->stack);
	vec_fini(&b->times);
	index_fini(&b->by_word);
	free(b);
}

void profile_builder_select(struct profile_builder *b, enum symbolize_mode mode,
			    const uint32_t *samples, size_t n)
{
	b->mode = mode;
	b->samples = samples;
	b->n_samples = n;
}

int profile_builder_build(struct profile_builder *b, struct profile **out)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	int r = profile_new(&p);

	if (r < 0)
		return r;
	b->p = p;
	r = begin_profile(b);
	if (r == 0)
		r = add_words(b);
	if (r == 0)
		r = frame_symbols_resolve(b->symbols, p, b->words.data, b->words.len);
	if (r == 0)
		r = add_samples(b);
	clear_words(b);
	b->p = NULL;
	if (r == 0)
		*out = steal_ptr(&p);
	return r;
}

int profile_builder_prefetch(struct profile_builder *b)
{
	int r = add_words(b);

	if (r == 0)
		r = frame_symbols_prefetch(b->symbols, b->words.data, b->words.len);
	clear_words(b);
	return r;
}
