/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attaching where threads are switched, and asking for those that sleep: their stacks are
 * told by an iterator over all tasks. Where the kernel has none (it came with 5.8), threads
 * are known from their first switch on.
 */
#include "agent/sampler_off.h"

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

enum {
	THREADS_BATCH = 1024,
	THREADS_MIN = 1 << 13,
	THREADS_ROOM = 4, /* for so many times the threads that are there now */
};

struct sampler_off {
	struct sample_bpf *skel; /* borrowed */
	struct bpf_link *links[3], *tasks;
};

/* The parameters of a tracepoint, as the kernel's types say; 0: it has none of that name. */
static uint32_t tracepoint_parameters(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF);
	const struct btf_type *t =
		id > 0 ? btf__type_by_id(btf, btf__type_by_id(btf, (uint32_t)id)->type) : NULL;

	if (t && btf_is_ptr(t))
		t = btf__type_by_id(btf, t->type);
	return t && btf_is_func_proto(t) ? btf_vlen(t) - 1 : 0; /* the first is the probe's own */
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

/* Does the kernel account for threads that wait for a CPU, where programs can read it? */
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
		       "this kernel has no tracepoint %s (in /sys/kernel/btf/vmlinux): one with "
		       "CONFIG_TRACEPOINTS=y is needed",
		       name);
}

/* What differs between kernels. */
static int ask_kernel(struct sample_bpf *skel, struct err *err)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int r;

	if (!btf)
		return 0; /* loading will tell */
	/* preempt, prev, next; since 5.18 prev's state */
	skel->rodata->off_switch_has_state =
		tracepoint_parameters(btf, "btf_trace_sched_switch") >= 4;
	skel->rodata->off_queue_clock = has_queue_clock(btf);
	r = need_tracepoint(btf, "sched_switch", err);
	if (r == 0)
		r = need_tracepoint(btf, "sched_wakeup_new", err);
	if (r == 0 && !skel->rodata->off_queue_clock)
		r = need_tracepoint(btf, "sched_wakeup", err);
	btf__free(btf);
	return r;
}

/* How many threads at once there is room for. */
static uint32_t threads_max(void)
{
	_cleanup_(fclosep) FILE *f = fopen("/proc/loadavg", "re");
	uint32_t have = 0, n = THREADS_MIN;

	if (f && fscanf(f, "%*s %*s %*s %*u/%u", &have) != 1)
		have = 0;
	while (n < OFF_THREADS_MAX && n / THREADS_ROOM < have)
		n *= 2;
	return n;
}

/* @n is a power of two. If they are as many as that, a third finds its place taken. */
static void set_room(struct sample_bpf *skel, uint32_t n)
{
	skel->rodata->off_threads_mask = n - 1;
	bpf_map__set_max_entries(skel->maps.off_threads, n);
	bpf_map__set_max_entries(skel->maps.off_owners, n);
	bpf_map__set_max_entries(skel->maps.off_others, n / 2);
}

/* What the kernel calls it: its directory's inode has the same number. */
static uint64_t cgroup_id(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

int sampler_off_prepare(struct sample_bpf *skel, const struct sampler_opts *opts,
			uint32_t raw_record, struct err *err)
{
	struct bpf_program *programs[] = { skel->progs.on_switch, skel->progs.on_wakeup,
					   skel->progs.on_wakeup_new, skel->progs.off_tasks };
	int r;

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		bpf_program__set_autoload(programs[i], opts->off_cpu);
	if (!opts->off_cpu)
		return 0;
	skel->rodata->off_min_ns = opts->off_min_ns;
	skel->rodata->off_cgroup_id = opts->in_cgroup ? cgroup_id(opts->cgroup_fd) : 0;
	skel->rodata->off_task_record = raw_record;
	r = ask_kernel(skel, err);
	if (skel->rodata->off_queue_clock)
		bpf_program__set_autoload(skel->progs.on_wakeup, false);
	set_room(skel, threads_max());
	return r;
}

int sampler_off_attach(struct sampler_off **out, struct sample_bpf *skel)
{
	_cleanup_(sampler_off_freep) struct sampler_off *off = calloc(1, sizeof(*off));
	const struct bpf_program *programs[] = { skel->progs.on_switch, skel->progs.on_wakeup,
						 skel->progs.on_wakeup_new };

	if (!off)
		return -ENOMEM;
	off->skel = skel;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		if (!bpf_program__autoload(programs[i]))
			continue;
		off->links[i] = bpf_program__attach(programs[i]);
		if (!off->links[i])
			return -errno;
	}
	off->tasks = bpf_program__attach_iter(skel->progs.off_tasks, NULL);
	*out = steal_ptr(&off);
	return 0;
}

void sampler_off_detach(struct sampler_off *off)
{
	for (size_t i = 0; off && i < sizeof(off->links) / sizeof(off->links[0]); i++) {
		bpf_link__destroy(off->links[i]);
		off->links[i] = NULL;
	}
}

void sampler_off_free(struct sampler_off *off)
{
	if (!off)
		return;
	sampler_off_detach(off);
	bpf_link__destroy(off->tasks);
	free(off);
}

/* Of one of the maps. */
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

int sampler_off_each(struct sampler_off *off, sampler_thread_fn fn, void *ctx)
{
	int r;

	if (!off)
		return 0;
	r = each_thread(off->skel->maps.off_threads, fn, ctx);
	return r < 0 ? r : each_thread(off->skel->maps.off_others, fn, ctx);
}

/* The records in what an iterator says: whole ones, in pieces of any length. */
static int read_records(int fd, sampler_record_fn fn, void *ctx)
{
	struct raw_record r;
	const size_t len = offsetof(struct raw_record, stack);
	size_t have = 0;
	ssize_t n;

	while ((n = read(fd, (char *)&r + have, len - have)) != 0) {
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return -errno;
		have += (size_t)n;
		if (have < len)
			continue;
		fn(ctx, &r, len);
		have = 0;
	}
	return 0;
}

int sampler_off_scan(struct sampler_off *off, uint64_t since_ns, sampler_record_fn fn, void *ctx)
{
	_cleanup_(closep) int fd = -1;
	int r;

	if (!off || !off->tasks)
		return 0;
	fd = bpf_iter_create(bpf_link__fd(off->tasks));
	if (fd < 0)
		return -errno;
	off->skel->bss->off_since_ns = since_ns;
	r = read_records(fd, fn, ctx);
	off->skel->bss->off_since_ns = 0;
	return r;
}

/* Does the thread have the entry that its number says? */
static bool has_own(const struct sampler_off *off, uint32_t tid, struct off_thread *out)
{
	uint32_t at = tid & off->skel->rodata->off_threads_mask;

	return bpf_map__lookup_elem(off->skel->maps.off_threads, &at, sizeof(at), out, sizeof(*out),
				    0) == 0 &&
	       out->tid == tid;
}

int sampler_off_get(struct sampler_off *off, uint32_t tid, struct off_thread *out)
{
	if (!off)
		return -ENOENT;
	if (has_own(off, tid, out))
		return 0;
	return bpf_map__lookup_elem(off->skel->maps.off_others, &tid, sizeof(tid), out,
				    sizeof(*out), 0);
}

void sampler_off_remove(struct sampler_off *off, uint32_t tid)
{
	struct off_thread t, none = { 0 };
	uint32_t at;

	if (!off)
		return;
	if (!has_own(off, tid, &t)) {
		bpf_map__delete_elem(off->skel->maps.off_others, &tid, sizeof(tid), 0);
		return;
	}
	at = tid & off->skel->rodata->off_threads_mask;
	bpf_map__update_elem(off->skel->maps.off_threads, &at, sizeof(at), &none, sizeof(none), 0);
	bpf_map__delete_elem(off->skel->maps.off_owners, &at, sizeof(at), 0);
}
