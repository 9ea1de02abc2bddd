/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembers the calls that frames of generated code stand for: the FRAME_SCRIPT words of the
 * functions that are inlined at a place.
 */
#include <string.h>

#include "base/hash.h"
#include "lang/functions.h"
#include "lang/registry.h"

struct place_query {
	const struct langs *l;
	const struct expansion *e;
};

static bool same_place(const void *ctx, uint32_t id)
{
	const struct place_query *q = ctx;
	const struct expansion *e = &q->l->expansions.data[id];

	return e->place == q->e->place && !memcmp(&e->key, &q->e->key, sizeof(e->key));
}

/* Sets key and place of *@out. Returns their hash. */
static uint32_t make_key(const struct lang_process *p, const uint64_t words[2],
			 struct expansion *out)
{
	*out = (struct expansion){ .place = words[1] };
	out->key = (struct key){ p->pid, (uint32_t)words[1], p->start_ns, words[0] };
	return hash_pair(hash_bytes(&out->key, sizeof(out->key)), out->place);
}

/* Makes the two words of a call that a frame with the first word @head stands for. */
static void call_words(uint64_t head, const struct lang_call *call, uint64_t out[2])
{
	out[0] = VM_FRAME_WORD(0, VM_FRAME_INDEX(head), call->addr);
	out[1] = (uint64_t)call->place << 32 | call->cookie;
}

/* Returns the expansion of a frame, or NULL. */
static const struct expansion *find(const struct langs *l, const struct lang_process *p,
				    const uint64_t words[2])
{
	struct expansion key;
	uint32_t hash = make_key(p, words, &key), id;
	const struct place_query query = { l, &key };

	return index_find(&l->by_place, hash, same_place, &query, &id) ? &l->expansions.data[id]
								       : NULL;
}

uint64_t langs_call_word(struct langs *l, const struct lang_process *p, uint64_t head,
			 const struct lang_call *calls, size_t n, size_t i)
{
	struct lang_process process = *p;
	uint64_t words[2], caller[2];

	call_words(head, &calls[i], words);
	if (i + 1 < n && langs_is_named_by_caller(l, VM_FRAME_INDEX(head))) {
		call_words(head, &calls[i + 1], caller);
		process.caller = caller;
	}
	return langs_script_word(l, &process, words);
}

void langs_take_calls(struct langs *l, const struct lang_process *p, const uint64_t words[2],
		      const struct lang_call *calls, size_t n)
{
	struct expansion e;
	uint32_t hash = make_key(p, words, &e);
	int r = 0;

	if (l->expansions.len >= LANG_FUNCTIONS_MAX || find(l, p, words))
		return;
	e.first = (uint32_t)l->expanded.len;
	for (size_t i = 0; i < n && r == 0; i++)
		r = vec_push(&l->expanded, langs_call_word(l, p, words[0], calls, n, i));
	e.n = (uint32_t)l->expanded.len - e.first;
	if (r == 0)
		r = vec_push(&l->expansions, e);
	if (r == 0)
		(void)index_add(&l->by_place, hash, (uint32_t)l->expansions.len - 1);
}

/* Protects the function of a FRAME_SCRIPT word from being forgotten in this window. */
static void function_use(struct langs *l, uint64_t word)
{
	uint64_t id = (word & FRAME_PAYLOAD_MASK) >> 32;

	if (id < l->functions.len)
		l->functions.data[id].used = l->window;
}

size_t langs_expand(struct langs *l, const struct lang_process *p, const uint64_t words[2],
		    const uint64_t **out)
{
	const struct expansion *e = find(l, p, words);

	if (!e && (l->is_collecting || !l->stack))
		langs_need_calls(l, p, words);
	if (!e && l->is_collecting)
		return 0;
	e = find(l, p, words);
	if (!e) {
		/* a full table has no room for this word, either */
		l->unread_word = langs_unread_word(l, p, words[0]);
		*out = &l->unread_word;
		return 1;
	}
	*out = l->expanded.data + e->first;
	for (uint32_t i = 0; i < e->n; i++)
		function_use(l, l->expanded.data[e->first + i]);
	return e->n;
}

void expansions_forget(struct langs *l)
{
	index_fini(&l->by_place);
	l->by_place = (struct index){ 0 };
	vec_fini(&l->expansions);
	vec_fini(&l->expanded);
}

size_t expansions_bytes(const struct langs *l)
{
	return l->expansions.cap * sizeof(struct expansion) + l->expanded.cap * sizeof(uint64_t) +
	       l->by_place.n_slots * sizeof(struct index_slot);
}
