/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of a probe is that of the trap, which no program can measure: it is known for the
 * instructions that the kernel emulates, and for those that it single-steps.
 */
#include "profiler/alloc_recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include "bpf/shared/allocs.h"
#include "proc/usage.h"
#include "process/file_table.h"
#include "process/process_table.h"
#include "reader/allocator_client.h"
#include "sampler/sampler.h"

enum {
	PROBE_NS = 850,   /* one at the entry of a function that allocates */
	RETURN_NS = 650,  /* one at its return, in addition */
	FREE_NS = 950,    /* one at free() */
	STEP_NS = 11000,  /* the single step of an instruction that is not emulated, in addition */
	FILES_MAX = 1024, /* files that are remembered */
	PROCESSES_MAX_PROBED = 256,
	DESCRIPTORS_MAX = 2 * ALLOCATOR_FUNCTIONS_MAX,
};

#define CHECK_NS     200000000ULL
#define PAUSE_MAX_NS 60000000000ULL

/* A file that was examined. */
struct examined {
	uint64_t serial;
	uint32_t id; /* in the file table */
	uint32_t n;
	uint32_t number;                      /* for alloc_probe_set_file() */
	struct allocator_function *functions; /* owned; NULL: it has none */
};

/* The probes in one process, at one file. */
struct probed {
	uint32_t pid;
	uint32_t file; /* index in files */
	bool is_seen;  /* by the present update */
	size_t n[ALLOC_PROBE_PARTS];
	int fds[ALLOC_PROBE_PARTS][DESCRIPTORS_MAX];
};

struct alloc_recording {
	struct alloc_recording_opts opts;
	struct {
		VEC(struct examined);
	} files;
	struct {
		VEC(struct probed *);
	} probed;
	uint32_t n_numbers;
	uint64_t check_ns, resume_ns, started_ns, paused_since_ns;
	uint64_t cost_ns, cpu_ns; /* at the last check */
	uint64_t total_cost_ns, total_cpu_ns;
	bool is_paused;
	int unread; /* -errno of the last file that no reader could read */
	struct alloc_recording_stats stats;
};

int alloc_recording_new(struct alloc_recording **out, const struct alloc_recording_opts *opts)
{
	struct alloc_recording *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->opts = *opts;
	*out = a;
	return 0;
}

static void detach(struct probed *p, enum alloc_probe_part part)
{
	for (size_t i = 0; i < p->n[part]; i++)
		close(p->fds[part][i]);
	p->n[part] = 0;
}

static void free_probed(struct probed *p)
{
	for (int part = 0; part < ALLOC_PROBE_PARTS; part++)
		detach(p, (enum alloc_probe_part)part);
	free(p);
}

void alloc_recording_stop(struct alloc_recording *a)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (size_t i = 0; i < a->probed.len; i++)
		free_probed(a->probed.data[i]);
	a->probed.len = 0;
	if (a->is_paused)
		a->stats.paused_ns += now_ns - a->paused_since_ns;
	a->is_paused = false;
	if (a->started_ns)
		a->stats.recorded_ns = now_ns - a->started_ns;
}

void alloc_recording_free(struct alloc_recording *a)
{
	if (!a)
		return;
	alloc_recording_stop(a);
	for (size_t i = 0; i < a->files.len; i++)
		free(a->files.data[i].functions);
	vec_fini(&a->files);
	vec_fini(&a->probed);
	free(a);
}

/* ---- files -------------------------------------------------------------------------- */

/* Keeps the @n functions that a reader has found, and publishes them. */
static void keep_functions(struct alloc_recording *a, struct examined *e,
			   const struct allocator_function *functions, int n)
{
	size_t bytes = (size_t)n * sizeof(*functions);

	if (n <= 0 || a->n_numbers == ALLOC_FILES_MAX)
		return;
	e->functions = malloc(bytes);
	if (!e->functions)
		return;
	memcpy(e->functions, functions, bytes);
	e->n = (uint32_t)n;
	e->number = a->n_numbers++;
	(void)sampler_set_alloc_file(a->opts.sampler, e->number, e->functions, e->n);
	for (uint32_t i = 0; i < e->n; i++)
		if (a->opts.frees && e->functions[i].flags & ALLOCATOR_THROWS) {
			a->stats.n_throwing++;
			break;
		}
}

static int examine(struct alloc_recording *a, const struct file_info *f, uint32_t id)
{
	struct allocator_function functions[ALLOCATOR_FUNCTIONS_MAX];
	struct examined e = { .serial = f->serial, .id = id };
	int n = f->fd >= 0 && f->is_elf ? allocator_client_find(a->opts.readers, f->fd, functions)
					: 0;

	if (n < 0 && n != -ENOEXEC) {
		a->stats.n_unread++;
		a->unread = n;
	}
	keep_functions(a, &e, functions, n);
	if (vec_push(&a->files, e) < 0) {
		free(e.functions);
		return -ENOMEM;
	}
	return 0;
}

/* Returns the index of the file, which is examined if it is new; -1: nothing is known about it. */
static int find_file(struct alloc_recording *a, uint32_t id)
{
	const struct file_info *f = file_table_get(a->opts.files, id);

	if (!f)
		return -1;
	for (size_t i = 0; i < a->files.len; i++)
		if (a->files.data[i].serial == f->serial)
			return (int)i;
	if (a->files.len == FILES_MAX || examine(a, f, id) < 0)
		return -1;
	return (int)a->files.len - 1;
}

/* ---- processes ---------------------------------------------------------------------- */

static int attach(struct alloc_recording *a, struct probed *p, enum alloc_probe_part part)
{
	const struct examined *e = &a->files.data[p->file];
	const struct file_info *f = file_table_get(a->opts.files, e->id);
	struct alloc_place place = {
		.pid = p->pid,
		.file = e->number,
		.functions = e->functions,
		.n = e->n,
		.frees = a->opts.frees,
	};
	int r;

	if (!f || f->serial != e->serial)
		return -ESRCH;
	place.fd = f->fd;
	r = sampler_attach_alloc(a->opts.sampler, &place, part, p->fds[part], &p->n[part]);
	if (r < 0 && r != -ESRCH) {
		a->stats.n_refused++;
		if (!a->stats.refusal)
			a->stats.refusal = r;
	}
	return r;
}

static struct probed *find_probed(struct alloc_recording *a, uint32_t pid, uint32_t file)
{
	for (size_t i = 0; i < a->probed.len; i++)
		if (a->probed.data[i]->pid == pid && a->probed.data[i]->file == file)
			return a->probed.data[i];
	return NULL;
}

static bool is_new_process(const struct alloc_recording *a, uint32_t pid)
{
	for (size_t i = 0; i < a->probed.len; i++)
		if (a->probed.data[i]->pid == pid)
			return false;
	return true;
}

static void probe(struct alloc_recording *a, uint32_t pid, uint32_t file)
{
	struct probed *p = calloc(1, sizeof(*p));

	if (!p)
		return;
	p->pid = pid;
	p->file = file;
	p->is_seen = true;
	a->stats.n_processes += is_new_process(a, pid);
	if (vec_push(&a->probed, p) < 0) {
		free(p);
		return;
	}
	/* frees first: a block that is sampled must not be freed unseen */
	(void)attach(a, p, ALLOC_PROBE_FREES);
	if (!a->is_paused)
		(void)attach(a, p, ALLOC_PROBE_ALLOCS);
}

static void see_file(void *ctx, const struct process *process, uint32_t file)
{
	struct alloc_recording *a = ctx;
	int i = find_file(a, file);
	struct probed *p;

	if (i < 0 || !a->files.data[i].n)
		return;
	p = find_probed(a, process->pid, (uint32_t)i);
	if (p)
		p->is_seen = true;
	else if (a->probed.len < PROCESSES_MAX_PROBED)
		probe(a, process->pid, (uint32_t)i);
}

static bool has_seen(const struct alloc_recording *a, uint32_t pid)
{
	for (size_t i = 0; i < a->probed.len; i++)
		if (a->probed.data[i]->pid == pid && a->probed.data[i]->is_seen)
			return true;
	return process_table_runs(a->opts.procs, pid);
}

/* The probes of a process stay over an exec, since the next program may map the same files. */
static void follow(struct alloc_recording *a, uint64_t now_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->probed.len; i++)
		a->probed.data[i]->is_seen = false;
	process_table_each_file(a->opts.procs, now_ns, see_file, a);
	for (size_t i = 0; i < a->probed.len; i++) {
		struct probed *p = a->probed.data[i];

		if (p->is_seen || has_seen(a, p->pid))
			a->probed.data[kept++] = p;
		else
			free_probed(p);
	}
	a->probed.len = kept;
}

/* ---- cost --------------------------------------------------------------------------- */

/*
 * Adds up the CPU time of the probed processes until now, and the part of it that the probes have
 * used.
 */
static void measure(const struct alloc_recording *a, uint64_t *out_cost_ns, uint64_t *out_cpu_ns)
{
	struct sampler_stats st;
	uint32_t previous = 0;

	*out_cost_ns = *out_cpu_ns = 0;
	if (sampler_stats(a->opts.sampler, &st) == 0)
		*out_cost_ns =
			st.counts.n[COUNTER_ALLOCS] * (PROBE_NS + (a->opts.frees ? RETURN_NS : 0)) +
			st.counts.n[COUNTER_FREES] * FREE_NS +
			st.counts.n[COUNTER_ALLOCS_STEPPED] * STEP_NS;
	for (size_t i = 0; i < a->probed.len; i++) {
		struct proc_usage usage;

		if (a->probed.data[i]->pid == previous)
			continue;
		previous = a->probed.data[i]->pid;
		proc_usage_read((pid_t)previous, &usage);
		*out_cpu_ns += usage.cpu_ns;
	}
}

static void pause_for(struct alloc_recording *a, uint64_t now_ns, uint64_t pause_ns)
{
	for (size_t i = 0; i < a->probed.len; i++)
		detach(a->probed.data[i], ALLOC_PROBE_ALLOCS);
	a->is_paused = true;
	a->paused_since_ns = now_ns;
	a->resume_ns = now_ns + (pause_ns < PAUSE_MAX_NS ? pause_ns : PAUSE_MAX_NS);
	a->stats.n_pauses++;
}

static void resume(struct alloc_recording *a, uint64_t now_ns)
{
	for (size_t i = 0; i < a->probed.len; i++)
		(void)attach(a, a->probed.data[i], ALLOC_PROBE_ALLOCS);
	a->is_paused = false;
	a->stats.paused_ns += now_ns - a->paused_since_ns;
	a->check_ns = now_ns + CHECK_NS;
	measure(a, &a->cost_ns, &a->cpu_ns);
}

/*
 * The pause lasts until the share, averaged over the recording and the pause, is at its limit,
 * provided that the processes continue as before.
 */
static void check_cost(struct alloc_recording *a, uint64_t now_ns)
{
	uint64_t cost_ns, cpu_ns, since_ns = now_ns - (a->check_ns - CHECK_NS);
	double share, limit = a->opts.share_max / 100.0;

	measure(a, &cost_ns, &cpu_ns);
	a->check_ns = now_ns + CHECK_NS;
	if (cpu_ns > a->cpu_ns && cost_ns >= a->cost_ns) {
		share = (double)(cost_ns - a->cost_ns) / (double)(cpu_ns - a->cpu_ns);
		a->total_cost_ns += cost_ns - a->cost_ns;
		a->total_cpu_ns += cpu_ns - a->cpu_ns;
		if (limit < 1 && share > limit)
			pause_for(a, now_ns, (uint64_t)((double)since_ns * (share / limit - 1)));
	}
	a->cost_ns = cost_ns;
	a->cpu_ns = cpu_ns;
}

/* ---- the recording ------------------------------------------------------------------ */

static int explain(const struct alloc_recording *a, struct err *err)
{
	if (a->stats.n_refused)
		return err_set(err, a->stats.refusal,
			       "cannot place probes at functions of the allocator: %s",
			       strerror(-a->stats.refusal));
	if (a->stats.n_unread)
		return err_set(err, a->unread,
			       "cannot look for functions of an allocator: %llu files of the "
			       "selected processes could not be read: %s",
			       (unsigned long long)a->stats.n_unread, strerror(-a->unread));
	return err_set(err, -ENOENT,
		       "no functions of an allocator are known in the selected processes: a "
		       "program that is linked statically needs its symbol table (.symtab) for "
		       "that; --memory=resident needs no symbols");
}

static bool has_probes(const struct alloc_recording *a)
{
	for (size_t i = 0; i < a->probed.len; i++)
		if (a->probed.data[i]->n[ALLOC_PROBE_ALLOCS])
			return true;
	return false;
}

int alloc_recording_start(struct alloc_recording *a, struct err *err)
{
	a->started_ns = clock_monotonic_ns();
	follow(a, a->started_ns);
	if (!has_probes(a))
		return explain(a, err);
	a->check_ns = a->started_ns + CHECK_NS;
	measure(a, &a->cost_ns, &a->cpu_ns);
	return 0;
}

void alloc_recording_update(struct alloc_recording *a, uint64_t now_ns)
{
	follow(a, now_ns);
	if (a->is_paused && now_ns >= a->resume_ns)
		resume(a, now_ns);
	else if (!a->is_paused && now_ns >= a->check_ns)
		check_cost(a, now_ns);
}

void alloc_recording_stats(const struct alloc_recording *a, struct alloc_recording_stats *out)
{
	*out = a->stats;
	if (a->total_cpu_ns)
		out->share = (double)a->total_cost_ns / (double)a->total_cpu_ns;
}
