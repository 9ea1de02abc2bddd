/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two lists make one stack: native frames, of which some are an interpreter's
 * loop, and the interpreter's own frames in activations (those that one call
 * of the loop ran). Whole lists are matched from their outer ends: a loop
 * just entered or just left has not linked its frame, and is left out. A list
 * whose outer end is missing is matched from the inner one.
 */
#include "lang/lang.h"

#include <string.h>

#include "lang/functions.h"

/* The two lists of one slot, as far as they are used up. */
struct side {
	const uint64_t *words; /* of the activations that are left */
	size_t n;
	size_t n_loops, n_activations;
	size_t loop; /* number of loops passed */
	uint32_t vm; /* 0: no frames */
};

struct weave {
	struct langs *l;
	const struct lang_stack *in;
	bool from_inner;
	struct side side[VM_SLOTS_MAX];
	uint64_t *out;
	size_t n_out;
};

static uint32_t loop_slot(uint64_t word)
{
	uint32_t slot = VM_LOOP_SLOT(word);

	return word >> FRAME_KIND_SHIFT == FRAME_NATIVE && slot <= VM_SLOTS_MAX ? slot : 0;
}

static void put(struct weave *w, uint64_t word)
{
	if (w->n_out < LANG_STACK_MAX)
		w->out[w->n_out++] = word;
}

/* A frame of generated code, two words: the functions that it shows. */
static void put_generated(struct weave *w, const uint64_t *words)
{
	const uint64_t *shown;
	size_t n = langs_expand(w->l, &w->in->process, words, &shown);

	for (size_t i = 0; i < n; i++)
		put(w, shown[i]);
}

static void put_native(struct weave *w, uint64_t word)
{
	put(w, word >> FRAME_KIND_SHIFT == FRAME_NATIVE
		       ? FRAME_WORD(FRAME_NATIVE, word & FRAME_PAYLOAD_MASK)
		       : word);
}

static void put_activation(struct weave *w, struct side *s)
{
	struct lang_process of = w->in->process;
	bool last = false, covered = false;

	while (s->n >= 2 && !last) {
		uint64_t word;

		last = s->words[0] & VM_FRAME_LAST;
		of.caller = s->n > 2 && !last && !w->in->later ? s->words + 2 : NULL;
		word = langs_script_word(w->l, &of, s->words);
		if (!covered)
			put(w, word);
		covered = langs_covers_caller(w->l, word);
		s->words += 2;
		s->n -= 2;
	}
	s->n_activations--;
}

/* A frame of the loop: by what it is replaced. */
static void put_loop(struct weave *w, struct side *s, uint64_t word)
{
	size_t left = s->n_loops - s->loop++; /* this one and those outside it */

	if (!w->from_inner) {
		while (s->n_activations > left)
			put_activation(w, s);
		if (s->n_activations == left)
			put_activation(w, s);
		else if (!s->n_activations)
			put_native(w, word);
	} else if (s->n_activations) {
		put_activation(w, s);
	} else {
		put_native(w, word);
	}
	if (!langs_fold(w->l))
		put_native(w, word);
}

static void count_lists(struct weave *w)
{
	const struct lang_stack *in = w->in;

	for (size_t i = 0; i < in->n_words; i++)
		if (loop_slot(in->words[i]))
			w->side[loop_slot(in->words[i]) - 1].n_loops++;
	for (size_t i = 0; i + 1 < in->n_vm_words; i += 2) {
		uint32_t slot = VM_FRAME_SLOT(in->vm_words[i]);
		struct side *s = &w->side[slot < VM_SLOTS_MAX ? slot : 0];

		if (!s->n) {
			s->words = in->vm_words + i;
			s->vm = VM_FRAME_INDEX(in->vm_words[i]);
		}
		s->n += 2;
		if (in->vm_words[i] & VM_FRAME_LAST)
			s->n_activations++;
	}
	for (int i = 0; i < VM_SLOTS_MAX; i++) {
		struct side *s = &w->side[i];

		/* the outermost one has no mark when the list was cut */
		if (s->n && !(s->words[s->n - 2] & VM_FRAME_LAST))
			s->n_activations++;
	}
}

/*
 * More loops than a thread can have entered without a frame: the outer ones
 * are not of the running coroutine but of whoever lay on its stack before.
 */
static bool are_foreign(const struct langs *l, const struct side *s)
{
	return langs_may_hold_foreign(l, s->vm) && s->n_activations &&
	       s->n_loops > s->n_activations + 1;
}

/* Activations without a loop: the native stack ends too early. */
static void put_rest(struct weave *w)
{
	for (int i = 0; i < VM_SLOTS_MAX; i++)
		while (w->side[i].n_activations && w->side[i].n)
			put_activation(w, &w->side[i]);
}

/* One frame, or what stands for it. Return: how many of the words that was. */
static size_t put_word(struct weave *w, const uint64_t *words, size_t n)
{
	uint32_t slot = loop_slot(words[0]);
	struct side *s;

	if (words[0] >> FRAME_KIND_SHIFT == FRAME_VM && n > 1) {
		put_generated(w, words);
		return 2;
	}
	if (!slot) {
		put_native(w, words[0]);
		return 1;
	}
	s = &w->side[slot - 1];
	put_loop(w, s, words[0]);
	return n > 1 && words[1] >> FRAME_KIND_SHIFT == FRAME_ADDRESS &&
			       langs_is_trampoline(w->l, s->vm)
		       ? 2
		       : 1;
}

size_t langs_weave(struct langs *l, const struct lang_stack *in, uint64_t *out)
{
	struct weave w = { .l = l, .in = in, .out = out };
	size_t n = in->n_words;
	uint64_t last = n ? in->words[n - 1] : 0;
	bool incomplete = last >> FRAME_KIND_SHIFT == FRAME_ERROR;

	count_lists(&w);
	w.from_inner = in->cut || incomplete;
	for (int i = 0; i < VM_SLOTS_MAX; i++)
		w.from_inner |= are_foreign(l, &w.side[i]);
	if (incomplete)
		n--;
	for (size_t i = 0; i < n;)
		i += put_word(&w, in->words + i, n - i);
	put_rest(&w);
	if (incomplete)
		put(&w, last);
	return w.n_out;
}
