/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects the questions about a stack and sends them together, since each exchange with another
 * process takes longer than most answers. Questions about calls come first, because their answers
 * lead to functions.
 */
#include <string.h>

#include "base/vec.h"
#include "lang/functions.h"
#include "lang/registry.h"

enum { COMPARED = 16 }; /* previous questions; a recursion repeats one of them */

/* The calls that were answered, which lead to further questions. */
struct found {
	uint64_t words[2], caller[2];
	bool has_caller;
	size_t first, n; /* range of calls */
};

struct asking {
	struct langs *l;
	size_t n_answered;
	struct {
		VEC(struct found);
	} found;
	struct {
		VEC(struct lang_call);
	} calls;
};

static bool is_same(const struct lang_question *a, const struct lang_question *b)
{
	return a->words[0] == b->words[0] && a->words[1] == b->words[1] &&
	       a->has_caller == b->has_caller && a->caller[0] == b->caller[0] &&
	       a->caller[1] == b->caller[1];
}

/* ---- functions ------------------------------------------------------------------------------ */

static void on_function(void *ctx, size_t question, struct lang_answer *answer)
{
	struct asking *a = ctx;

	langs_take_function(a->l, &a->l->needs.data[question], answer);
	a->n_answered = question + 1;
}

/* Requests the functions that were collected. Functions without an answer remain missing. */
static void ask_functions(struct langs *l, const struct lang_process *p)
{
	struct asking a = { .l = l };
	struct {
		VEC(struct lang_question);
	} q = { 0 };
	size_t n = l->needs.len;

	for (size_t i = 0; i < n && vec_push(&q, l->needs.data[i].question) == 0; i++)
		;
	(void)langs_ask(l, p, q.data, q.len, on_function, &a);
	for (size_t i = a.n_answered; i < n; i++)
		langs_take_function(l, &l->needs.data[i], NULL);
	l->needs.len = 0;
	vec_fini(&q);
}

void langs_need(struct langs *l, const struct lang_process *p, const struct function_need *need)
{
	size_t n = l->needs.len;

	for (size_t i = n > COMPARED ? n - COMPARED : 0; i < n; i++)
		if (is_same(&l->needs.data[i].question, &need->question))
			return;
	if (vec_push(&l->needs, *need) == 0 && !l->is_collecting)
		ask_functions(l, p);
}

/* ---- calls ---------------------------------------------------------------------------------- */

static void on_calls(void *ctx, size_t question, struct lang_answer *answer)
{
	struct asking *a = ctx;
	const struct lang_question *q = &a->l->calls_needed.data[question];
	struct found f = {
		.words = { q->words[0], q->words[1] },
		.caller = { q->caller[0], q->caller[1] },
		.has_caller = q->has_caller,
		.first = a->calls.len,
	};

	for (int i = 0; i < answer->result && vec_push(&a->calls, answer->calls[i]) == 0; i++)
		f.n++;
	(void)vec_push(&a->found, f);
}

/* Returns @p with the caller of the calls that @f stands for. */
static struct lang_process process_of(const struct lang_process *p, const struct found *f)
{
	struct lang_process process = *p;

	process.caller = f->has_caller ? f->caller : NULL;
	return process;
}

/* Collects the functions of the calls. */
static void need_functions(struct langs *l, const struct lang_process *p, const struct asking *a)
{
	for (size_t i = 0; i < a->found.len; i++) {
		const struct found *f = &a->found.data[i];
		const struct lang_process process = process_of(p, f);

		for (size_t k = 0; k < f->n; k++)
			(void)langs_call_word(l, &process, f->words[0], a->calls.data + f->first,
					      f->n, k);
	}
}

/* Requests everything that was collected, and the functions of the calls. */
static void ask_all(struct langs *l, const struct lang_process *p)
{
	struct asking a = { .l = l };

	if (l->calls_needed.len)
		(void)langs_ask(l, p, l->calls_needed.data, l->calls_needed.len, on_calls, &a);
	l->calls_needed.len = 0;
	need_functions(l, p, &a);
	l->is_collecting = false;
	if (l->needs.len)
		ask_functions(l, p);
	for (size_t i = 0; i < a.found.len; i++) {
		const struct found *f = &a.found.data[i];
		const struct lang_process process = process_of(p, f);

		langs_take_calls(l, &process, f->words, a.calls.data + f->first, f->n);
	}
	vec_fini(&a.found);
	vec_fini(&a.calls);
}

void langs_need_calls(struct langs *l, const struct lang_process *p, const uint64_t words[2])
{
	struct lang_question q = { .kind = LANG_ASK_CALLS, .words = { words[0], words[1] } };
	size_t n = l->calls_needed.len;

	if (p->caller) {
		q.has_caller = 1;
		memcpy(q.caller, p->caller, sizeof(q.caller));
	}
	for (size_t i = n > COMPARED ? n - COMPARED : 0; i < n; i++)
		if (is_same(&l->calls_needed.data[i], &q))
			return;
	if (vec_push(&l->calls_needed, q) == 0 && !l->is_collecting) {
		l->is_collecting = true;
		ask_all(l, p);
	}
}

/* ---- stacks --------------------------------------------------------------------------------- */

void langs_begin_stack(struct langs *l)
{
	l->stack = ++l->n_stacks ? l->n_stacks : ++l->n_stacks;
	l->is_collecting = true;
}

bool langs_ask_collected(struct langs *l, const struct lang_process *p)
{
	bool is_needed = l->needs.len || l->calls_needed.len;

	if (is_needed)
		ask_all(l, p);
	l->is_collecting = false;
	return is_needed;
}

void langs_end_stack(struct langs *l)
{
	l->stack = 0;
}
