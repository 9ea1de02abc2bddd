/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/wakers.h"

#include <errno.h>
#include <string.h>

#include "profiler/off_texts.h"

struct waking waking_of(const struct record_header *h, const struct sample_counts_thread *thread,
			const uint64_t *words, size_t n)
{
	struct waking k = { .tid = WAKER_TID(h->arg),
			    .out_ns = h->len,
			    .by = { .thread = *thread,
				    .is_kernel = h->flags & RECORD_KERNEL_THREAD,
				    .n_words = (uint32_t)n },
			    .has_waited = h->flags & RECORD_WAKER_WAITED,
			    .last_out_ns = WAKER_LAST_OUT(h->arg),
			    .words = words };

	k.by.thread.cpu_plus_1 = 0;
	return k;
}

static void chain_clear(struct waker_chain *c)
{
	c->links.len = c->words.len = 0;
	c->end = WAKER_END_UNKNOWN;
}

void thread_wakers_fini(struct thread_wakers *w)
{
	vec_fini(&w->now.links);
	vec_fini(&w->now.words);
	vec_fini(&w->last.links);
	vec_fini(&w->last.words);
}

/* Appends @waker to the chain; a chain at its limits ends there. Returns 0 or -ENOMEM. */
static int chain_add(struct waker_chain *c, const struct waker *waker, const uint64_t *words)
{
	int r;

	if (c->links.len == WAKERS_MAX ||
	    (c->links.len && c->words.len + waker->n_words > WAKER_WORDS_MAX)) {
		c->end = WAKER_END_LIMIT;
		return 0;
	}
	r = vec_reserve(&c->words, c->words.len + waker->n_words);
	if (r == 0)
		r = vec_push(&c->links, *waker);
	if (r < 0)
		return r;
	if (waker->n_words)
		memcpy(c->words.data + c->words.len, words, waker->n_words * sizeof(*words));
	c->words.len += waker->n_words;
	return 0;
}

/* Appends the chain @rest. Returns 0 or -ENOMEM. */
static int chain_continue(struct waker_chain *c, const struct waker_chain *rest)
{
	const uint64_t *words = rest->words.data;
	int r = 0;

	c->end = WAKER_END_UNKNOWN;
	for (size_t i = 0; i < rest->links.len && r == 0 && c->end != WAKER_END_LIMIT; i++) {
		r = chain_add(c, &rest->links.data[i], words);
		words += rest->links.data[i].n_words;
	}
	if (c->end != WAKER_END_LIMIT)
		c->end = rest->end;
	return r;
}

int thread_wakers_add(struct thread_wakers *w, const struct waking *k,
		      const struct thread_wakers *by)
{
	int r;

	w->out_ns = k->out_ns;
	chain_clear(&w->now);
	r = chain_add(&w->now, &k->by, k->words);
	if (r == 0 && !k->has_waited)
		w->now.end = WAKER_END_RAN;
	else if (r == 0 && by && k->last_out_ns && (uint32_t)by->last_out_ns == k->last_out_ns)
		r = chain_continue(&w->now, &by->last);
	return r;
}

const struct waker_chain *thread_wakers_get(const struct thread_wakers *w, uint64_t out_ns)
{
	return w->out_ns == out_ns && w->now.links.len ? &w->now : NULL;
}

void thread_wakers_end(struct thread_wakers *w, uint64_t out_ns)
{
	struct waker_chain old = w->last;

	w->last_out_ns = out_ns;
	if (w->out_ns == out_ns) {
		w->last = w->now;
		w->now = old;
	} else {
		chain_clear(&w->last);
	}
	w->out_ns = 0;
	chain_clear(&w->now);
}

size_t thread_wakers_bytes(const struct thread_wakers *w)
{
	return (w->now.links.cap + w->last.links.cap) * sizeof(struct waker) +
	       (w->now.words.cap + w->last.words.cap) * sizeof(uint64_t);
}

/* Appends the frames of link @i, and its divider. */
static int put_link(const struct waker_chain *chain, size_t i, const uint64_t *words,
		    struct sample_counts *counts, struct waker_words *out)
{
	const struct waker *link = &chain->links.data[i];
	uint32_t thread;
	int r = sample_counts_intern_thread(counts, &link->thread, &thread);

	if (r == 0)
		r = vec_reserve(out, out->len + link->n_words + 1);
	if (r < 0)
		return r;
	if (link->n_words)
		memcpy(out->data + out->len, words, link->n_words * sizeof(*words));
	out->len += link->n_words;
	out->data[out->len++] = WAKER_WORD(thread, link->is_kernel);
	return 0;
}

/* The word that shows why a chain ends; 0: it needs none. */
static uint64_t end_word(enum waker_end end)
{
	switch (end) {
	case WAKER_END_UNKNOWN:
		return FRAME_WORD(FRAME_ERROR, OFFCPU_ERR_NO_WAKER);
	case WAKER_END_LIMIT:
		return FRAME_WORD(FRAME_ERROR, OFFCPU_ERR_MORE_WAKERS);
	case WAKER_END_WAITS:
		return FRAME_WORD(FRAME_ERROR, OFFCPU_ERR_NOT_WOKEN);
	case WAKER_END_RAN:
		break;
	}
	return 0;
}

int waker_chain_put(const struct waker_chain *chain, struct sample_counts *counts,
		    struct waker_words *out)
{
	const uint64_t *words = chain->words.data + chain->words.len, end = end_word(chain->end);
	int r = end ? vec_push(out, end) : 0;

	for (size_t i = chain->links.len; i > 0 && r == 0; i--) {
		words -= chain->links.data[i - 1].n_words;
		r = put_link(chain, i - 1, words, counts, out);
	}
	return r;
}

static bool is_divider(uint64_t word)
{
	if (word >> FRAME_KIND_SHIFT == FRAME_WAKER)
		return true;
	return word == FRAME_WORD(FRAME_ERROR, OFFCPU_ERR_NO_WAKER) ||
	       word == FRAME_WORD(FRAME_ERROR, OFFCPU_ERR_NOT_WOKEN);
}

size_t wakers_n_words(const uint64_t *words, size_t n)
{
	while (n > 0 && !is_divider(words[n - 1]))
		n--;
	return n;
}
