/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A further program is loaded from another copy of the BPF object, with the constants and the maps
 * of the first, and only the list of languages differs. CAP_BPF and CAP_PERFMON are needed as long
 * as the sampler runs. The kernel's array of programs holds a reference to each, so the copy is
 * closed again.
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

enum { KINDS = 4 };

/* The sets of languages of a stage, by index. */
struct stage_sets {
	uint32_t all; /* languages of the stage */
	uint32_t languages[WALK_PROGRAMS_MAX];
	uint32_t n, n_done; /* sets, and those of them that were loaded or refused */
};

struct walk_programs {
	struct sample_bpf *skel;
	pthread_mutex_t lock;
	pthread_cond_t requested;
	pthread_t thread;
	bool has_thread;
	/* the rest is guarded by the lock */
	bool stop;
	struct stage_sets stages[STAGES];
	struct walk_programs_stats stats;
};

/* The programs of a kind of sample: the first, and those of the stages with their arrays. */
struct kind {
	struct bpf_program *first, *programs[STAGES];
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
		KIND(switch)
	};

	memcpy(out, kinds, sizeof(kinds));
}

void walk_programs_prepare(struct sample_bpf *skel)
{
	struct kind kinds[KINDS];

	get_kinds(skel, kinds);
	for (int i = 0; i < KINDS; i++) {
		bpf_program__set_autoload(kinds[i].programs[STAGE_LISTS], false);
		bpf_program__set_autoload(kinds[i].programs[STAGE_WALK],
					  bpf_program__autoload(kinds[i].first));
	}
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

/* Selects of @copy the programs of @stage, of the kinds that @first has. */
static void select_stage(struct sample_bpf *copy, struct sample_bpf *first, enum stage stage)
{
	struct kind had[KINDS], kinds[KINDS];
	struct bpf_program *program = NULL;

	while ((program = bpf_object__next_program(copy->obj, program)))
		bpf_program__set_autoload(program, false);
	get_kinds(first, had);
	get_kinds(copy, kinds);
	for (int i = 0; i < KINDS; i++)
		bpf_program__set_autoload(kinds[i].programs[stage],
					  bpf_program__autoload(had[i].first));
}

static int load(struct sample_bpf *first, enum stage stage, uint32_t languages, uint32_t index)
{
	struct sample_bpf *copy = sample_bpf__open();
	int r;

	if (!copy)
		return -errno;
	memcpy(copy->rodata, first->rodata, sizeof(*copy->rodata));
	copy->rodata->languages = languages;
	select_stage(copy, first, stage);
	r = share_maps(copy, first);
	if (r == 0)
		r = sample_bpf__load(copy);
	if (r == 0)
		r = publish(copy, stage, index);
	sample_bpf__destroy(copy);
	return r;
}

/*
 * The first stage with a set that is not loaded yet. Lists come first, because samples have no
 * functions of interpreters until then.
 */
static enum stage next_stage(const struct walk_programs *p)
{
	enum stage stage = 0;

	while (stage < STAGES && p->stages[stage].n_done == p->stages[stage].n)
		stage++;
	return stage;
}

/* Loads the next program of @stage; the lock is not held meanwhile. */
static void load_next(struct walk_programs *p, enum stage stage)
{
	struct stage_sets *sets = &p->stages[stage];
	uint32_t index = sets->n_done, languages = sets->languages[index];
	int r;

	pthread_mutex_unlock(&p->lock);
	r = load(p->skel, stage, languages, index);
	pthread_mutex_lock(&p->lock);
	sets->n_done++;
	if (r == 0)
		p->stats.n_loaded++;
	else
		p->stats.n_refused++;
	p->stats.load_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void *run(void *arg)
{
	struct walk_programs *p = arg;

	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		enum stage stage = next_stage(p);

		if (stage < STAGES)
			load_next(p, stage);
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
	p->stages[STAGE_LISTS] = (struct stage_sets){ .all = LANGUAGES_LIST, .n = 1, .n_done = 1 };
	p->stages[STAGE_WALK] = (struct stage_sets){ .all = LANGUAGES_CODE, .n = 1, .n_done = 1 };
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->requested, NULL);
	r = publish(skel, STAGE_WALK, 0);
	if (r < 0) {
		walk_programs_free(p);
		return kernel_error(r, "make BPF programs callable", err);
	}
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
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* The index of @languages, which are added if they are new. The last set has all languages. */
static uint32_t find_or_add(struct stage_sets *sets, uint32_t languages)
{
	uint32_t i;

	for (i = 0; i < sets->n; i++)
		if (sets->languages[i] == languages)
			return i;
	if (i == WALK_PROGRAMS_MAX)
		return i - 1;
	sets->languages[i] = i == WALK_PROGRAMS_MAX - 1 ? sets->all : languages;
	sets->n++;
	return i;
}

/* The index of the program of @stage for a process with @languages. */
static uint16_t request(struct walk_programs *p, enum stage stage, uint32_t languages)
{
	struct stage_sets *sets = &p->stages[stage];
	uint32_t index = find_or_add(sets, languages & sets->all);

	if (index >= sets->n_done && !p->has_thread)
		p->has_thread = thread_start(&p->thread, run, p) == 0;
	return (uint16_t)index;
}

void walk_programs_request(struct walk_programs *p, uint32_t languages, uint16_t *out_walk,
			   uint16_t *out_lists)
{
	pthread_mutex_lock(&p->lock);
	*out_lists = request(p, STAGE_LISTS, languages);
	*out_walk = request(p, STAGE_WALK, languages);
	pthread_cond_signal(&p->requested);
	pthread_mutex_unlock(&p->lock);
}

void walk_programs_stats(struct walk_programs *p, struct walk_programs_stats *out)
{
	pthread_mutex_lock(&p->lock);
	*out = p->stats; /* its n_waiting is 0 */
	for (int i = 0; i < STAGES; i++)
		out->n_waiting += p->stages[i].n - p->stages[i].n_done;
	pthread_mutex_unlock(&p->lock);
}
