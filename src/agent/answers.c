/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two generations: new answers go into the young one; when that has half of
 * the limit it becomes the old one, and what was old is forgotten. An answer
 * that is wanted from the old one is copied into the young one. So the limit
 * holds without a list of uses.
 */
#include "agent/answers.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/index.h"
#include "base/strtab.h"
#include "base/vec.h"

struct line {
	uint32_t name, system_name, file; /* strings */
	uint32_t line, start_line;
};

struct answer {
	struct answers_place place;
	uint32_t first_line, n_lines;
};

struct generation {
	struct strtab *strings; /* NULL: empty */
	struct {
		VEC(struct line);
	} lines;
	struct {
		VEC(struct answer);
	} answers;
	struct index by_place;
};

struct answers {
	size_t max_bytes;
	struct generation young, old;
	struct symbol_frame frames[ANSWER_FRAMES_MAX]; /* the last answer given */
};

struct place_key {
	const struct generation *g;
	const struct answers_place *place;
};

int answers_new(struct answers **out, size_t max_bytes)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->max_bytes = max_bytes;
	return 0;
}

static void generation_fini(struct generation *g)
{
	strtab_free(g->strings);
	g->strings = NULL;
	vec_fini(&g->lines);
	vec_fini(&g->answers);
	index_fini(&g->by_place);
}

void answers_clear(struct answers *a)
{
	generation_fini(&a->young);
	generation_fini(&a->old);
}

void answers_free(struct answers *a)
{
	if (!a)
		return;
	answers_clear(a);
	free(a);
}

static size_t generation_bytes(const struct generation *g)
{
	return (g->strings ? strtab_bytes(g->strings) : 0) + g->lines.cap * sizeof(*g->lines.data) +
	       g->answers.cap * sizeof(*g->answers.data) +
	       g->by_place.n_slots * sizeof(struct index_slot);
}

size_t answers_bytes(const struct answers *a)
{
	return generation_bytes(&a->young) + generation_bytes(&a->old);
}

static uint32_t place_hash(const struct answers_place *p)
{
	return hash_u64(p->word ^ p->serial * 0x9e3779b97f4a7c15ULL);
}

static bool same_place(const void *ctx, uint32_t id)
{
	const struct place_key *k = ctx;
	const struct answers_place *have = &k->g->answers.data[id].place;

	return have->word == k->place->word && have->serial == k->place->serial;
}

static const struct answer *find(const struct generation *g, const struct answers_place *place)
{
	struct place_key key = { g, place };
	uint32_t id;

	return index_find(&g->by_place, place_hash(place), same_place, &key, &id)
		       ? &g->answers.data[id]
		       : NULL;
}

static int add_line(struct generation *g, const struct symbol_frame *f)
{
	const char *system = f->system_name ? f->system_name : f->name, *file = f->file;
	struct line l = { .line = f->line, .start_line = f->start_line };
	int r = strtab_add(g->strings, f->name, strlen(f->name), &l.name);

	if (r == 0)
		r = strtab_add(g->strings, system, strlen(system), &l.system_name);
	if (r == 0 && file)
		r = strtab_add(g->strings, file, strlen(file), &l.file);
	return r < 0 ? r : vec_push(&g->lines, l);
}

static int generation_put(struct generation *g, const struct answers_place *place,
			  const struct symbol_frame *frames, size_t n)
{
	struct answer answer = { .place = *place };
	int r = g->strings ? 0 : strtab_new(&g->strings);

	answer.first_line = (uint32_t)g->lines.len;
	answer.n_lines = (uint32_t)(n < ANSWER_FRAMES_MAX ? n : ANSWER_FRAMES_MAX);
	for (size_t i = 0; i < answer.n_lines && r == 0; i++)
		r = add_line(g, &frames[i]);
	if (r == 0)
		r = vec_push(&g->answers, answer);
	if (r == 0)
		r = index_add(&g->by_place, place_hash(place), (uint32_t)g->answers.len - 1);
	return r;
}

int answers_put(struct answers *a, const struct answers_place *place,
		const struct symbol_frame *frames, size_t n)
{
	if (a->max_bytes && generation_bytes(&a->young) >= a->max_bytes / 2) {
		generation_fini(&a->old);
		a->old = a->young;
		a->young = (struct generation){ 0 };
	}
	return generation_put(&a->young, place, frames, n);
}

static void give(struct answers *a, const struct generation *g, const struct answer *answer)
{
	for (uint32_t i = 0; i < answer->n_lines; i++) {
		const struct line *l = &g->lines.data[answer->first_line + i];

		a->frames[i] = (struct symbol_frame){
			.name = strtab_get(g->strings, l->name),
			.system_name = strtab_get(g->strings, l->system_name),
			.file = strtab_get(g->strings, l->file),
			.line = l->line,
			.start_line = l->start_line,
		};
	}
}

bool answers_get(struct answers *a, const struct answers_place *place,
		 const struct symbol_frame **out, size_t *out_n)
{
	const struct answer *answer = find(&a->young, place);

	if (!answer) {
		answer = find(&a->old, place);
		if (!answer)
			return false;
		give(a, &a->old, answer);
		/* never turns the generations over, for the old one is being read */
		if (generation_put(&a->young, place, a->frames, answer->n_lines) < 0)
			return false;
		answer = find(&a->young, place);
		if (!answer)
			return false;
	}
	give(a, &a->young, answer);
	*out = a->frames;
	*out_n = answer->n_lines;
	return true;
}
