/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attaches the off-CPU programs to the scheduler's tracepoints, and reads the threads' states from
 * their maps. Threads that have slept since before the start are found by a BPF task iterator
 * (Linux 5.8), which also walks their kernel stacks; without it, a thread is known from its first
 * context switch on.
 *
 * The maps: off_threads is an array indexed by the low bits of the tid; a thread whose entry
 * another one occupies is in the hash map off_others. off_owners contains the thread that holds
 * each array entry.
 */
#include "sampler/sched_probe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/err.h"
#include "base/vec.h"
#include "bpf/sample.skel.h"
#include "sampler/task_iterator.h"

enum {
	THREADS_BATCH = 1024,
	THREADS_MIN = 1 << 13,
	THREADS_HEADROOM = 4, /* times the present number of threads */
};

struct sched_probe {
	struct sample_bpf *skel; /* borrowed */
	struct bpf_link *links[4], *tasks;
};

/*
 * Number of parameters of a tracepoint according to the kernel's BTF; 0 if there is no such
 * tracepoint.
 */
static uint32_t tracepoint_parameters(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF);
	const struct btf_type *t =
		id > 0 ? btf__type_by_id(btf, btf__type_by_id(btf, (uint32_t)id)->type) : NULL;

	if (t && btf_is_ptr(t))
		t = btf__type_by_id(btf, t->type);
	return t && btf_is_func_proto(t) ? btf_vlen(t) - 1
					 : 0; /* the first parameter is the probe's own context */
}

static bool has_member(const struct btf *btf, const char *type, const char *member)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	for (uint32_t i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), member))
			return true;
	return false;
}

/*
 * Returns true if BPF programs can read when a thread was queued for a CPU
 * (CONFIG_SCHED_INFO).
 */
static bool has_queue_clock(const struct btf *btf)
{
	return has_member(btf, "sched_info", "last_queued") &&
	       has_member(btf, "sched_entity", "cfs_rq") && has_member(btf, "cfs_rq", "rq");
}

static int need_tracepoint(const struct btf *btf, const char *name, struct err *err)
{
	char type[64];

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	if (tracepoint_parameters(btf, type))
		return 0;
	return err_set(err, -ENOENT,
		       "this kernel has no tracepoint %s (according to /sys/kernel/btf/vmlinux): "
		       "boot one with CONFIG_TRACEPOINTS=y",
		       name);
}

/*
 * Adapts the programs to this kernel. Returns 0, or -ENOENT if a required tracepoint is
 * missing.
 */
static int adapt_to_kernel(struct sample_bpf *skel, struct err *err)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int r;

	if (!btf)
		return 0; /* loading the object reports this */
	/* The parameters are preempt, prev and next; Linux 5.18 added the state of prev. */
	skel->rodata->off_switch_has_state =
		tracepoint_parameters(btf, "btf_trace_sched_switch") >= 4;
	skel->rodata->off_queue_clock = has_queue_clock(btf);
	r = need_tracepoint(btf, "sched_switch", err);
	if (r == 0)
		r = need_tracepoint(btf, "sched_wakeup_new", err);
	if (r == 0 && !skel->rodata->off_queue_clock)
		r = need_tracepoint(btf, "sched_wakeup", err);
	if (r == 0 && skel->rodata->off_wakers)
		r = need_tracepoint(btf, "sched_waking", err);
	btf__free(btf);
	return r;
}

/* Number of threads to size the maps for, a power of two. */
static uint32_t threads_max(void)
{
	_cleanup_(fclosep) FILE *f = fopen("/proc/loadavg", "re");
	uint32_t have = 0, n = THREADS_MIN;

	if (f && fscanf(f, "%*s %*s %*s %*u/%u", &have) != 1)
		have = 0;
	while (n < OFF_THREADS_MAX && n / THREADS_HEADROOM < have)
		n *= 2;
	return n;
}

/*
 * Sizes the maps for @n threads, a power of two. With @n threads, about a third of them find
 * their array entry taken and use off_others.
 */
static void size_maps(struct sample_bpf *skel, uint32_t n)
{
	skel->rodata->off_threads_mask = n - 1;
	bpf_map__set_max_entries(skel->maps.off_threads, n);
	bpf_map__set_max_entries(skel->maps.off_owners, n);
	bpf_map__set_max_entries(skel->maps.off_others, n / 2);
}

/* The kernel's id of a cgroup is the inode number of its directory. */
static uint64_t cgroup_id(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

int sched_probe_prepare(struct sample_bpf *skel, const struct sampler_opts *opts,
			uint32_t raw_record, struct err *err)
{
	struct bpf_program *programs[] = { skel->progs.on_switch, skel->progs.on_wakeup,
					   skel->progs.on_wakeup_new, skel->progs.off_tasks };
	int r;

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		bpf_program__set_autoload(programs[i], opts->off_cpu);
	bpf_program__set_autoload(skel->progs.on_waking, opts->off_cpu && opts->wakers);
	if (!opts->off_cpu)
		return 0;
	skel->rodata->off_wakers = opts->wakers;
	skel->rodata->off_min_ns = opts->off_min_ns;
	skel->rodata->off_cgroup_id = opts->in_cgroup ? cgroup_id(opts->cgroup_fd) : 0;
	skel->rodata->off_task_record = raw_record;
	r = adapt_to_kernel(skel, err);
	if (skel->rodata->off_queue_clock)
		bpf_program__set_autoload(skel->progs.on_wakeup, false);
	size_maps(skel, threads_max());
	return r;
}

int sched_probe_attach(struct sched_probe **out, struct sample_bpf *skel)
{
	_cleanup_(sched_probe_freep) struct sched_probe *probe = calloc(1, sizeof(*probe));
	const struct bpf_program *programs[] = { skel->progs.on_switch, skel->progs.on_wakeup,
						 skel->progs.on_wakeup_new, skel->progs.on_waking };

	if (!probe)
		return -ENOMEM;
	probe->skel = skel;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		if (!bpf_program__autoload(programs[i]))
			continue;
		probe->links[i] = bpf_program__attach(programs[i]);
		if (!probe->links[i])
			return -errno;
	}
	probe->tasks = bpf_program__attach_iter(skel->progs.off_tasks, NULL);
	*out = steal_ptr(&probe);
	return 0;
}

void sched_probe_detach(struct sched_probe *probe)
{
	for (size_t i = 0; probe && i < sizeof(probe->links) / sizeof(probe->links[0]); i++) {
		bpf_link__destroy(probe->links[i]);
		probe->links[i] = NULL;
	}
}

void sched_probe_free(struct sched_probe *probe)
{
	if (!probe)
		return;
	sched_probe_detach(probe);
	bpf_link__destroy(probe->tasks);
	free(probe);
}

/* Calls @fn for all threads of one of the two maps. */
static int each_thread(const struct bpf_map *map, sampler_thread_fn fn, void *ctx)
{
	_cleanup_(freep) uint32_t *keys = calloc(THREADS_BATCH, sizeof(*keys));
	_cleanup_(freep) struct off_thread *threads = calloc(THREADS_BATCH, sizeof(*threads));
	uint32_t at, n;
	bool first = true;
	int r = 0;

	if (!keys || !threads)
		return -ENOMEM;
	while (r == 0) {
		n = THREADS_BATCH;
		r = bpf_map_lookup_batch(bpf_map__fd(map), first ? NULL : &at, &at, keys, threads,
					 &n, NULL);
		if (r < 0 && r != -ENOENT)
			return r;
		first = false;
		for (uint32_t i = 0; i < n; i++)
			if (threads[i].tid)
				fn(ctx, threads[i].tid, &threads[i]);
	}
	return 0;
}

int sched_probe_each_thread(struct sched_probe *probe, sampler_thread_fn fn, void *ctx)
{
	int r;

	if (!probe)
		return 0;
	r = each_thread(probe->skel->maps.off_threads, fn, ctx);
	return r < 0 ? r : each_thread(probe->skel->maps.off_others, fn, ctx);
}

int sched_probe_scan_sleepers(struct sched_probe *probe, uint64_t since_ns, sampler_record_fn fn,
			      void *ctx)
{
	struct raw_record r;
	int n;

	if (!probe || !probe->tasks)
		return 0;
	probe->skel->bss->off_since_ns = since_ns;
	n = task_iterator_read(probe->tasks, &r, offsetof(struct raw_record, stack), fn, ctx);
	probe->skel->bss->off_since_ns = 0;
	return n;
}

/* Returns true, and the state in *@out, if @tid occupies its entry of the array. */
static bool get_from_array(const struct sched_probe *probe, uint32_t tid, struct off_thread *out)
{
	uint32_t at = tid & probe->skel->rodata->off_threads_mask;

	return bpf_map__lookup_elem(probe->skel->maps.off_threads, &at, sizeof(at), out,
				    sizeof(*out), 0) == 0 &&
	       out->tid == tid;
}

int sched_probe_get_thread(struct sched_probe *probe, uint32_t tid, struct off_thread *out)
{
	if (!probe)
		return -ENOENT;
	if (get_from_array(probe, tid, out))
		return 0;
	return bpf_map__lookup_elem(probe->skel->maps.off_others, &tid, sizeof(tid), out,
				    sizeof(*out), 0);
}

void sched_probe_remove_thread(struct sched_probe *probe, uint32_t tid)
{
	struct off_thread t, none = { 0 };
	uint32_t at;

	if (!probe)
		return;
	if (!get_from_array(probe, tid, &t)) {
		bpf_map__delete_elem(probe->skel->maps.off_others, &tid, sizeof(tid), 0);
		return;
	}
	at = tid & probe->skel->rodata->off_threads_mask;
	bpf_map__update_elem(probe->skel->maps.off_threads, &at, sizeof(at), &none, sizeof(none),
			     0);
	bpf_map__delete_elem(probe->skel->maps.off_owners, &at, sizeof(at), 0);
}
