/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each further program is loaded from another copy of the BPF object, which has the constants and
 * the maps of the first; only the list of languages differs. CAP_BPF and CAP_PERFMON are needed as
 * long as the sampler runs. The kernel's array of programs holds a reference to each, so the copy
 * is closed again.
 */
#include "sampler/walk_programs.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/thread.h"
#include "bpf/sample.skel.h"
#include "bpf/shared/abi.h"
#include "sampler/kernel_error.h"

enum stage { STAGE_LISTS, STAGE_WALK, STAGES };

enum { KINDS = 6 };

/* The index of the program that knows all lists. */
enum { LISTS_ALL = 1 };

struct walk_programs {
	struct sample_bpf *skel;
	pthread_mutex_t lock;
	pthread_cond_t requested, done;
	pthread_t thread;
	bool has_thread;
	/* the following members are guarded by the lock */
	bool stop;
	uint32_t languages[WALK_PROGRAMS_MAX]; /* the sets of languages of walks, by index */
	uint32_t n, n_done; /* sets, and those of them that were loaded or refused */
	struct walk_programs_stats stats;
};

/* The programs of a kind of sample: those that begin it, those of the stages, and their arrays. */
struct kind {
	struct bpf_program *first, *second, *programs[STAGES]; /* second: NULL, or it walks too */
	struct bpf_map *arrays[STAGES];
};

#define KIND(name)                                                                                 \
	{                                                                                          \
		.first = skel->progs.on_##name,                                                    \
		.programs = { skel->progs.list_##name, skel->progs.walk_##name },                  \
		.arrays = { skel->maps.name##_lists, skel->maps.name##_walks },                    \
	}

static void get_kinds(struct sample_bpf *skel, struct kind out[KINDS])
{
	const struct kind kinds[KINDS] = {
		KIND(sample),
		KIND(tracepoint),
		KIND(uprobe),
		KIND(switch),
		KIND(fault),
		KIND(waking)
	};

	memcpy(out, kinds, sizeof(kinds));
	out[2].second = skel->progs.on_alloc;
}

static bool is_taken(const struct kind *k)
{
	return bpf_program__autoload(k->first) || (k->second && bpf_program__autoload(k->second));
}

/* Walks do not depend on the bits of languages with lists, so both stages share the constant. */
void walk_programs_prepare(struct sample_bpf *skel, bool lists)
{
	struct kind kinds[KINDS];

	skel->rodata->languages = LANGUAGES_LIST;
	get_kinds(skel, kinds);
	for (int i = 0; i < KINDS; i++) {
		bool taken = is_taken(&kinds[i]);

		bpf_program__set_autoload(kinds[i].programs[STAGE_LISTS], taken && lists);
		bpf_program__set_autoload(kinds[i].programs[STAGE_WALK], taken);
	}
}

/* Returns true if the programs for lists were loaded with @skel. */
static bool has_lists(struct sample_bpf *skel)
{
	struct kind kinds[KINDS];

	get_kinds(skel, kinds);
	for (int i = 0; i < KINDS; i++)
		if (bpf_program__autoload(kinds[i].programs[STAGE_LISTS]))
			return true;
	return false;
}

/* Makes the loaded programs of @stage callable at @index. Returns 0 or -errno. */
static int publish(struct sample_bpf *skel, enum stage stage, uint32_t index)
{
	struct kind kinds[KINDS];
	int r = 0;

	get_kinds(skel, kinds);
	for (int i = 0; i < KINDS && r == 0; i++) {
		int fd = bpf_program__fd(kinds[i].programs[stage]);

		if (bpf_program__autoload(kinds[i].programs[stage]))
			r = bpf_map__update_elem(kinds[i].arrays[stage], &index, sizeof(index), &fd,
						 sizeof(fd), BPF_ANY);
	}
	return r;
}

/* ---- further programs, on their thread ------------------------------------------------- */

/* Makes @copy use the maps of @first, except the constants. Returns 0 or -errno. */
static int share_maps(struct sample_bpf *copy, struct sample_bpf *first)
{
	struct bpf_map *from = NULL, *to = NULL;
	int r = 0;

	while (r == 0 && (from = bpf_object__next_map(first->obj, from)) &&
	       (to = bpf_object__next_map(copy->obj, to)))
		if (from != first->maps.rodata)
			r = bpf_map__reuse_fd(to, bpf_map__fd(from));
	return r;
}

/* Selects the walks in @copy, for the kinds of samples that @first has. */
static void select_walks(struct sample_bpf *copy, struct sample_bpf *first)
{
	struct kind had[KINDS], kinds[KINDS];
	struct bpf_program *program = NULL;

	while ((program = bpf_object__next_program(copy->obj, program)))
		bpf_program__set_autoload(program, false);
	get_kinds(first, had);
	get_kinds(copy, kinds);
	for (int i = 0; i < KINDS; i++)
		bpf_program__set_autoload(kinds[i].programs[STAGE_WALK], is_taken(&had[i]));
}

static int load(struct sample_bpf *first, uint32_t languages, uint32_t index)
{
	struct sample_bpf *copy = sample_bpf__open();
	int r;

	if (!copy)
		return -errno;
	memcpy(copy->rodata, first->rodata, sizeof(*copy->rodata));
	copy->rodata->languages = languages;
	select_walks(copy, first);
	r = share_maps(copy, first);
	if (r == 0)
		r = sample_bpf__load(copy);
	if (r == 0)
		r = publish(copy, STAGE_WALK, index);
	sample_bpf__destroy(copy);
	return r;
}

static void count_load(struct walk_programs *p, int r)
{
	if (r == 0)
		p->stats.n_loaded++;
	else
		p->stats.n_refused++;
}

/* Loads the next walk; the lock is not held meanwhile. */
static void load_next(struct walk_programs *p)
{
	uint32_t index = p->n_done, languages = p->languages[index];
	int r;

	pthread_mutex_unlock(&p->lock);
	r = load(p->skel, languages, index);
	pthread_mutex_lock(&p->lock);
	p->n_done++;
	count_load(p, r);
	p->stats.load_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	pthread_cond_signal(&p->done);
}

static void *run(void *arg)
{
	struct walk_programs *p = arg;

	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		if (p->n_done < p->n)
			load_next(p);
		else
			pthread_cond_wait(&p->requested, &p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* ---- the sampler's thread -------------------------------------------------------------- */

int walk_programs_new(struct walk_programs **out, struct sample_bpf *skel, struct err *err)
{
	struct walk_programs *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->skel = skel;
	p->n = p->n_done = 1;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->requested, NULL);
	pthread_cond_init(&p->done, NULL);
	r = publish(skel, STAGE_WALK, 0);
	if (r == 0)
		r = publish(skel, STAGE_LISTS, LISTS_ALL);
	if (r < 0) {
		walk_programs_free(p);
		return kernel_error(r, "make BPF programs callable", err);
	}
	count_load(p, has_lists(skel) ? 0 : -EACCES);
	*out = p;
	return 0;
}

void walk_programs_free(struct walk_programs *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_signal(&p->requested);
	pthread_mutex_unlock(&p->lock);
	if (p->has_thread)
		pthread_join(p->thread, NULL);
	pthread_cond_destroy(&p->requested);
	pthread_cond_destroy(&p->done);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* The index of @languages, which are added if they are new. The last set has all languages. */
static uint32_t find_or_add(struct walk_programs *p, uint32_t languages)
{
	uint32_t i;

	for (i = 0; i < p->n; i++)
		if (p->languages[i] == languages)
			return i;
	if (i == WALK_PROGRAMS_MAX)
		return i - 1;
	p->languages[i] = i == WALK_PROGRAMS_MAX - 1 ? LANGUAGES_CODE : languages;
	p->n++;
	return i;
}

void walk_programs_request(struct walk_programs *p, uint32_t languages, uint16_t *out_walk,
			   uint16_t *out_lists)
{
	pthread_mutex_lock(&p->lock);
	*out_lists = languages & LANGUAGES_LIST ? LISTS_ALL : 0;
	*out_walk = (uint16_t)find_or_add(p, languages & LANGUAGES_CODE);
	if (*out_walk >= p->n_done && !p->has_thread)
		p->has_thread = thread_start(&p->thread, run, p) == 0;
	pthread_cond_signal(&p->requested);
	pthread_mutex_unlock(&p->lock);
}

void walk_programs_wait(struct walk_programs *p, uint64_t limit_ns)
{
	const uint64_t until_ns = clock_monotonic_ns() + limit_ns;
	int r = 0;

	pthread_mutex_lock(&p->lock);
	while (r == 0 && p->has_thread && p->n_done < p->n)
		r = thread_wait_until(&p->done, &p->lock, until_ns);
	pthread_mutex_unlock(&p->lock);
}

void walk_programs_stats(struct walk_programs *p, struct walk_programs_stats *out)
{
	pthread_mutex_lock(&p->lock);
	*out = p->stats;
	out->n_waiting = p->n - p->n_done;
	pthread_mutex_unlock(&p->lock);
}
