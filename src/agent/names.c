/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two passes: first every distinct word of every stack is given a location,
 * all in one batch; then the samples refer to these.
 */
#include "agent/names.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "agent/collect.h"
#include "agent/locate.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/vec.h"
#include "bpf/shared/abi.h"
#include "profile/profile.h"

enum { NS_PER_S = 1000000000 };

struct job {
	struct profile *p;
	const struct collect *c;
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
	uint32_t key_pid, key_tid, key_comm, key_thread;
	struct names_stats stats;
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

	for (size_t i = 0; i < collect_n_samples(j->c); i++) {
		const struct collect_sample *s = collect_sample(j->c, i);
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

static int make_labels(struct job *j, const struct collect_thread *t, struct profile_label out[4])
{
	int r;

	out[0] = (struct profile_label){ .key = j->key_pid, .num = t->pid };
	out[1] = (struct profile_label){ .key = j->key_tid, .num = t->tid };
	out[2] = (struct profile_label){ .key = j->key_comm };
	out[3] = (struct profile_label){ .key = j->key_thread };
	r = add_string(j, t->process_comm, &out[2].str);
	return r < 0 ? r : add_string(j, t->comm, &out[3].str);
}

/* @refs are the sample's @n frames. */
static int add_sample(struct job *j, const struct collect_sample *s, const uint32_t *refs, size_t n,
		      int64_t period_ns)
{
	struct profile_label labels[4];
	int64_t values[2] = { (int64_t)s->count, (int64_t)s->count * period_ns };
	struct profile_sample sample = { .labels = labels, .n_labels = 4, .values = values };
	int r = make_labels(j, collect_thread(j->c, s->thread), labels);

	if (r == 0)
		r = vec_reserve(&j->stack, n);
	for (size_t i = 0; i < n && r == 0; i++) {
		const struct located *w = &j->words.data[refs[i]];

		j->stack.data[i] = w->location;
		j->stats.n_frames += w->word >> FRAME_KIND_SHIFT != FRAME_ERROR ? s->count : 0;
		j->stats.n_unnamed += w->unnamed ? s->count : 0;
	}
	if (r == 0)
		r = profile_add_stack(j->p, j->stack.data, n, &sample.stack);
	return r < 0 ? r : profile_add_sample(j->p, &sample);
}

static int add_samples(struct job *j, int64_t period_ns)
{
	size_t at = 0;
	int r = 0;

	for (size_t i = 0; i < collect_n_samples(j->c) && r == 0; i++) {
		const struct collect_sample *s = collect_sample(j->c, i);
		size_t n;

		(void)collect_stack(j->c, s->stack, &n);
		r = add_sample(j, s, j->refs.data + at, n, period_ns);
		at += n;
	}
	return r;
}

static int begin_profile(struct job *j, const struct names_window *window)
{
	struct profile_meta *meta = profile_meta(j->p);
	const struct {
		const char *s;
		uint32_t *id;
	} strings[] = {
		{ "cpu", &meta->period_type.type },
		{ "nanoseconds", &meta->period_type.unit },
		{ "pid", &j->key_pid },
		{ "tid", &j->key_tid },
		{ "comm", &j->key_comm },
		{ "thread", &j->key_thread },
	};
	int r;

	meta->time_ns = window->time_ns;
	meta->duration_ns = window->duration_ns;
	meta->period = NS_PER_S / window->freq_hz;
	r = profile_add_sample_type(j->p, "samples", "count");
	if (r == 0)
		r = profile_add_sample_type(j->p, "cpu", "nanoseconds");
	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]) && r == 0; i++)
		r = add_string(j, strings[i].s, strings[i].id);
	return r;
}

int names_profile(struct locator *l, const struct collect *c, const struct names_window *window,
		  struct profile **out, struct names_stats *out_stats, struct err *err)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	struct job j = { .c = c };
	int r = profile_new(&p);

	j.p = p;
	if (r == 0)
		r = begin_profile(&j, window);
	if (r == 0)
		r = refer_all(&j);
	if (r == 0)
		r = locator_locate(l, p, j.words.data, j.words.len);
	if (r == 0)
		r = add_samples(&j, NS_PER_S / window->freq_hz);
	vec_fini(&j.words);
	vec_fini(&j.refs);
	vec_fini(&j.stack);
	index_fini(&j.by_word);
	if (r < 0)
		return err_set(err, r, "can't build the profile: %s", strerror(-r));
	*out_stats = j.stats;
	*out = steal_ptr(&p);
	return 0;
}
