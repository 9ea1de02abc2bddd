/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a sampler. Other parts of sampler.h are in modules of their own: sampler_load.h,
 * sampler_tables.h, sampler_memory.h and sampler_processes.c.
 */
#include "sampler/sampler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/err.h"
#include "base/vec.h"
#include "bpf/sample.skel.h"
#include "sampler/alloc_programs.h"
#include "sampler/attach.h"
#include "sampler/fault_probe.h"
#include "sampler/kernel_error.h"
#include "sampler/sampler_load.h"
#include "sampler/sampler_memory.h"
#include "sampler/sampler_state.h"
#include "sampler/sampler_tables.h"
#include "sampler/sched_probe.h"
#include "sampler/task_iterator.h"
#include "sampler/walk_programs.h"

uint32_t sampler_max_freq(void)
{
	_cleanup_(fclosep) FILE *f = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
	unsigned int hz;

	return f && fscanf(f, "%u", &hz) == 1 ? hz : 0;
}

static int on_ring_record(void *ctx, void *data, size_t len)
{
	struct sampler *s = ctx;

	s->fn(s->fn_ctx, data, len);
	return 0;
}

static int map_ring(struct sampler *s, struct err *err)
{
	s->ring = ring_buffer__new(bpf_map__fd(s->skel->maps.ring), on_ring_record, s, NULL);
	if (!s->ring)
		return err_set(err, -errno, "cannot map the ring buffer: %s", strerror(errno));
	return 0;
}

/* These are raw tracepoints, which need neither tracefs nor kprobes. */
static int sampler_attach_tracepoints(struct sampler *s, struct err *err)
{
	s->exec_link = bpf_program__attach(s->skel->progs.on_exec);
	if (!s->exec_link)
		return kernel_error(-errno, "attach to sched_process_exec", err);
	s->fork_link = bpf_program__attach(s->skel->progs.on_fork);
	if (!s->fork_link)
		return kernel_error(-errno, "attach to sched_process_fork", err);
	/* without it, records identify the programs that ran before, and nothing is swept */
	s->programs = bpf_program__attach_iter(s->skel->progs.each_program, NULL);
	return 0;
}

/*
 * BPF programs report pids of the initial pid namespace. In another namespace, /proc shows
 * the same processes under other pids, so no mapping could be read.
 */
static bool in_first_pid_namespace(void)
{
	const ino_t init_ino = 0xeffffffc; /* PROC_PID_INIT_INO, include/linux/proc_ns.h */
	struct stat st;

	return stat("/proc/self/ns/pid", &st) < 0 || st.st_ino == init_ino;
}

int sampler_enable_stats(void)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	return fd < 0 ? -1 : fd;
}

int sampler_open(struct sampler **out, const struct sampler_opts *opts, struct err *err)
{
	_cleanup_(sampler_freep) struct sampler *s = NULL;
	int r;

	if (access("/sys/kernel/btf/vmlinux", F_OK) < 0)
		return err_set(
			err, -ENOENT,
			"this kernel has no BTF (/sys/kernel/btf/vmlinux is missing): boot a "
			"kernel with CONFIG_DEBUG_INFO_BTF=y, such as that of Debian 11 or later");
	if (!in_first_pid_namespace())
		return err_set(err, -ENOTSUP,
			       "cannot identify processes outside of the host's PID namespace: run "
			       "cameo on the host, or in a container that shares the namespace "
			       "(docker run --pid=host)");
	if ((opts->allocs && alloc_programs_check(err) < 0) ||
	    (opts->faults && fault_probe_check(err) < 0))
		return -ENOTSUP;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->opts = *opts;
	s->stats_fd = -1;
	s->n_possible = (uint32_t)libbpf_num_possible_cpus();
	r = sampler_load(s, err);
	if (r < 0)
		return r;
	r = sampler_map_tables(s, err);
	if (r < 0)
		return r;
	r = map_ring(s, err);
	if (r < 0)
		return r;
	s->fixed_bytes = sampler_maps_bytes(s, false);
	r = walk_programs_new(&s->walks, s->skel, err);
	if (r < 0)
		return r;
	r = attach_new(&s->events, &s->opts, s->skel);
	if (r < 0)
		return r;
	r = sampler_attach_tracepoints(s, err);
	if (r < 0)
		return r;
	if (opts->stats)
		s->stats_fd = opts->stats_fd > 0 ? opts->stats_fd : sampler_enable_stats();
	*out = steal_ptr(&s);
	return 0;
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	sampler_detach(s);
	sched_probe_free(s->off);
	attach_free(s->events);
	bpf_link__destroy(s->exec_link);
	bpf_link__destroy(s->fork_link);
	bpf_link__destroy(s->programs);
	closep(&s->stats_fd);
	ring_buffer__free(s->ring);
	sampler_unmap_tables(s);
	walk_programs_free(s->walks);
	sample_bpf__destroy(s->skel);
	free(s);
}

int sampler_update_cpus(struct sampler *s, struct cpu_list *back, struct err *err)
{
	return s->opts.no_samples ? 0 : attach_update(s->events, back, err);
}

/*
 * Attaches the off-CPU programs. As in sampler_load(), a refusal is fatal only if nothing
 * else was requested.
 */
static int attach_off(struct sampler *s, struct err *err)
{
	struct err cause = { 0 };
	int r = s->opts.off_cpu ? sched_probe_attach(&s->off, s->skel) : 0;

	if (r < 0 && s->opts.no_samples)
		return kernel_error(r, "attach to the scheduler's tracepoints", err);
	if (r < 0)
		kernel_error(r, "attach to the scheduler's tracepoints", &cause);
	if (r < 0)
		snprintf(s->off_error, sizeof(s->off_error), "%s", cause.msg);
	return 0;
}

int sampler_attach(struct sampler *s, struct err *err)
{
	struct cpu_list back = { 0 };
	int r = sampler_update_cpus(s, &back, err);

	vec_fini(&back);
	if (r >= 0 && s->opts.faults) {
		r = fault_probe_attach(&s->faults, s->skel);
		if (r < 0)
			return kernel_error(
				r, "attach to the tracepoints of page faults and mappings", err);
	}
	return r < 0 ? r : attach_off(s, err);
}

int sampler_pause(struct sampler *s, bool pause)
{
	return attach_pause(s->events, pause);
}

void sampler_detach(struct sampler *s)
{
	attach_detach(s->events);
	fault_probe_detach(&s->faults);
	sched_probe_detach(s->off);
}

int sampler_set_alloc_file(struct sampler *s, uint32_t file,
			   const struct allocator_function *functions, size_t n)
{
	return alloc_probe_set_file(s->skel, file, functions, n);
}

int sampler_attach_alloc(struct sampler *s, const struct alloc_place *place,
			 enum alloc_probe_part part, int *fds, size_t *io_n)
{
	return alloc_probe_attach(s->skel, place, part, fds, io_n);
}

const char *sampler_offcpu_error(const struct sampler *s)
{
	return s->off_error[0] ? s->off_error : NULL;
}

int sampler_each_thread(struct sampler *s, sampler_thread_fn fn, void *ctx)
{
	return sched_probe_each_thread(s->off, fn, ctx);
}

int sampler_scan_sleepers(struct sampler *s, uint64_t since_ns, sampler_record_fn fn, void *ctx)
{
	return sched_probe_scan_sleepers(s->off, since_ns, fn, ctx);
}

int sampler_get_thread(struct sampler *s, uint32_t tid, struct off_thread *out)
{
	return sched_probe_get_thread(s->off, tid, out);
}

void sampler_remove_thread(struct sampler *s, uint32_t tid)
{
	sched_probe_remove_thread(s->off, tid);
}

int sampler_each_program(struct sampler *s, sampler_record_fn fn, void *ctx)
{
	struct record_header h;

	if (!s->programs)
		return -ENOTSUP;
	return task_iterator_read(s->programs, &h, sizeof(h), fn, ctx);
}

int sampler_consume(struct sampler *s, sampler_record_fn fn, void *ctx)
{
	s->fn = fn;
	s->fn_ctx = ctx;
	return ring_buffer__consume(s->ring);
}

int sampler_fd(const struct sampler *s)
{
	return ring_buffer__epoll_fd(s->ring);
}

static void counters_add(struct counters *sum, const struct counters *c)
{
	for (int i = 0; i < COUNTER_MAX; i++)
		sum->n[i] += c->n[i];
	for (int i = 0; i < WALK_ERR_MAX; i++)
		sum->walk_errors[i] += c->walk_errors[i];
	for (int i = 0; i < SELECT_RULES_MAX; i++)
		sum->excluded[i] += c->excluded[i];
}

int sampler_stats(const struct sampler *s, struct sampler_stats *out)
{
	_cleanup_(freep) struct counters *per_cpu = calloc(s->n_possible, sizeof(*per_cpu));
	struct walk_programs_stats walks;
	uint32_t zero = 0;
	int r;

	if (!per_cpu)
		return -ENOMEM;
	walk_programs_stats(s->walks, &walks);
	*out = (struct sampler_stats){
		.n_language_programs = walks.n_loaded,
		.n_language_programs_refused = walks.n_refused,
		.language_programs_ns = walks.load_ns,
		.n_cpus = s->n_possible,
		.maps_bytes = s->fixed_bytes + sampler_maps_bytes(s, true) +
			      s->n_chunks * (uint64_t)ARENA_CHUNK_BYTES,
		/* the ring's data pages are mapped twice, so that records never wrap */
		.mapped_bytes =
			sampler_mapped_tables_bytes(s) + 2 * (uint64_t)sampler_ring_bytes(s),
	};
	r = bpf_map__lookup_elem(s->skel->maps.counts, &zero, sizeof(zero), per_cpu,
				 s->n_possible * sizeof(*per_cpu), 0);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < s->n_possible; i++)
		counters_add(&out->counts, &per_cpu[i]);
	out->run_ns = out->counts.n[COUNTER_RUN_NS];
	out->run_count = out->counts.n[COUNTER_SENT] + out->counts.n[COUNTER_LOST];
	return s->stats_fd < 0 ? 0 : attach_cost(s->events, &out->run_ns, &out->run_count);
}
