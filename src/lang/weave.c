/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges two lists into one stack: the native frames, some of which are calls of an interpreter's
 * loop, and the interpreter's own frames, grouped into activations. An activation is the frames
 * that one call of the loop ran; VM_FRAME_LAST marks its outermost frame.
 *
 * Complete lists are matched from their outer ends, because an innermost loop that was just entered
 * or is about to return has no activation; such a loop is omitted. If the outer end of either list
 * is missing, they are matched from the inner end. Each slot of a walk, that is each virtual
 * machine in the stack, is matched separately.
 */
#include "lang/lang.h"

#include "lang/functions.h"

/* The part of one slot that has not been matched yet. */
struct side {
	const uint64_t *words; /* frames of the remaining activations, two words each */
	size_t n;              /* number of these words */
	size_t n_loops;        /* in the whole native list */
	size_t n_activations;  /* that remain */
	size_t n_passed;       /* loops that were matched */
	uint32_t vm;           /* index into the VM tables; 0: the slot has no frames */
};

struct weave {
	struct langs *l;
	const struct lang_stack *in;
	bool from_inner;
	struct side side[VM_SLOTS_MAX];
	uint64_t *out;
	size_t n_out;
};

/* Returns the slot, from 1, of which @word is a loop frame; 0: it is another frame. */
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

/* Puts the functions that a frame of generated code, which has two words, stands for. */
static void put_generated(struct weave *w, const uint64_t *words, size_t n_words)
{
	struct lang_process process = w->in->process;
	uint32_t vm = VM_FRAME_INDEX(words[0]);
	const uint64_t *expanded;
	size_t n;

	if (n_words > 3 && words[2] >> FRAME_KIND_SHIFT == FRAME_VM &&
	    VM_FRAME_INDEX(words[2]) == vm && langs_is_named_by_caller(w->l, vm))
		process.caller = words + 2;
	n = langs_expand(w->l, &process, words, &expanded);

	for (size_t i = 0; i < n; i++)
		put(w, expanded[i]);
}

/* Puts a frame without the bits that mark a loop. */
static void put_native(struct weave *w, uint64_t word)
{
	put(w, word >> FRAME_KIND_SHIFT == FRAME_NATIVE
		       ? FRAME_WORD(FRAME_NATIVE, word & FRAME_PAYLOAD_MASK)
		       : word);
}

/* Returns the word of a frame of an activation; @process has the frame's caller. */
static uint64_t frame_word(struct weave *w, const struct lang_process *process,
			   const uint64_t *words)
{
	if (!VM_FRAME_ADDR(words[0]) && words[1] == VM_FRAME_LATE)
		return langs_late_word(w->l, words[0]);
	return langs_script_word(w->l, process, words);
}

/* Moves the innermost remaining activation to the output. */
static void put_activation(struct weave *w, struct side *s)
{
	struct lang_process process = w->in->process;
	bool last = false, covered = false;

	while (s->n >= 2 && !last) {
		uint64_t word;

		last = s->words[0] & VM_FRAME_LAST;
		process.caller = s->n > 2 && !last ? s->words + 2 : NULL;
		word = frame_word(w, &process, s->words);
		if (!covered)
			put(w, word);
		covered = langs_covers_caller(w->l, word);
		s->words += 2;
		s->n -= 2;
	}
	s->n_activations--;
}

/* Replaces a frame of the loop by the activation that belongs to it, if there is one. */
static void put_loop(struct weave *w, struct side *s, uint64_t word)
{
	size_t n_left = s->n_loops - s->n_passed++; /* this loop and those outside of it */

	if (!w->from_inner) {
		while (s->n_activations > n_left)
			put_activation(w, s);
		if (s->n_activations == n_left)
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

		/* a truncated list lacks the mark of its outermost activation */
		if (s->n && !(s->words[s->n - 2] & VM_FRAME_LAST))
			s->n_activations++;
	}
}

/*
 * Returns true if the outer loops belong to another coroutine than the running one. greenlet saves
 * and restores only a part of the C stack when it switches, so the outer native frames may be those
 * of the coroutine that used the stack before. Otherwise at most one loop lacks an activation: the
 * innermost one, before it has linked its frame.
 */
static bool has_foreign_loops(const struct langs *l, const struct side *s)
{
	return langs_may_hold_foreign(l, s->vm) && s->n_activations &&
	       s->n_loops > s->n_activations + 1;
}

/* Puts activations that have no loop frame, as the native stack ended too early. */
static void put_rest(struct weave *w)
{
	for (int i = 0; i < VM_SLOTS_MAX; i++)
		while (w->side[i].n_activations && w->side[i].n)
			put_activation(w, &w->side[i]);
}

/* Puts one frame or its replacement. Return: the number of words consumed. */
static size_t put_word(struct weave *w, const uint64_t *words, size_t n)
{
	uint32_t slot = loop_slot(words[0]);
	struct side *s;

	if (words[0] >> FRAME_KIND_SHIFT == FRAME_VM && n > 1) {
		put_generated(w, words, n);
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

/* Weaves with what is known. Return: the number of words. */
static size_t weave(struct langs *l, const struct lang_stack *in, uint64_t *out)
{
	struct weave w = { .l = l, .in = in, .out = out };
	size_t n = in->n_words;
	uint64_t last = n ? in->words[n - 1] : 0;
	bool incomplete = last >> FRAME_KIND_SHIFT == FRAME_ERROR;

	count_lists(&w);
	w.from_inner = in->truncated || incomplete;
	for (int i = 0; i < VM_SLOTS_MAX; i++)
		w.from_inner |= has_foreign_loops(l, &w.side[i]);
	if (incomplete)
		n--;
	for (size_t i = 0; i < n;)
		i += put_word(&w, in->words + i, n - i);
	put_rest(&w);
	if (incomplete)
		put(&w, last);
	return w.n_out;
}

size_t langs_weave(struct langs *l, const struct lang_stack *in, uint64_t *out)
{
	size_t n;

	langs_begin_stack(l);
	n = weave(l, in, out);
	if (langs_ask_collected(l, &in->process))
		n = weave(l, in, out);
	langs_end_stack(l);
	return n;
}
