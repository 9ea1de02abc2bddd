/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk_cost cameo|kernel TID N: measures the BPF time of N samples of a thread, with Cameo's
 * program or with the kernel's frame-pointer walk. Prints `runs ns frames complete`: runs of the
 * program, their time by the kernel's BPF statistics, user frames, and complete stack traces.
 *
 * The perf event belongs to the thread, not to the CPU, so every run is a sample of that thread.
 * Cameo's program comes from a session that sampled normally until the unwind tables of the
 * thread were built.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/err.h"
#include "bench/fp_walk.skel.h"
#include "profiler/session.h"

enum { FREQ_HZ = 997, WARM_UP_TURNS = 8, DEADLINE_S = 60, FD_MAX = 4096 };

struct cost {
	uint64_t runs, ns, frames, complete;
};

static int event_open(int tid, int prog_fd)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = FREQ_HZ,
		.disabled = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog_fd) < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0) {
		perror("walk_cost: event");
		exit(1);
	}
	return fd;
}

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
}

/* Returns the descriptor of the sampling program in this process; -1 if there is none. */
static int sampling_program(void)
{
	for (int fd = 3; fd < FD_MAX; fd++) {
		struct bpf_prog_info info = { 0 };
		uint32_t len = sizeof(info);

		if (bpf_obj_get_info_by_fd(fd, &info, &len) == 0 &&
		    info.type == BPF_PROG_TYPE_PERF_EVENT && !strcmp(info.name, "on_sample"))
			return fd;
	}
	return -1;
}

static int cameo_read(struct session *s, struct cost *out)
{
	struct session_stats st;
	int r = session_stats(s, &st);

	if (r < 0)
		return r;
	*out = (struct cost){
		.runs = st.sampler.run_count,
		.ns = st.sampler.run_ns,
		.frames = st.sampler.counts.n[COUNTER_FRAMES],
		.complete = st.sampler.counts.n[COUNTER_COMPLETE],
	};
	return 0;
}

/* Samples normally until the thread's unwind tables are built, then stops. */
static int cameo_warm_up(struct session *s, int tid, struct err *err)
{
	int r = session_follow(s, (uint32_t)tid);

	if (r == 0)
		r = session_start(s, err);
	for (int i = 0; i < WARM_UP_TURNS && r == 0; i++) {
		nap();
		r = session_poll(s, err);
	}
	return r < 0 ? r : session_stop(s, err);
}

static int cameo_cost(int tid, uint64_t n, struct cost *out, struct err *err)
{
	struct session_opts opts = {
		.sampler = {
			.freq_hz = FREQ_HZ,
			.user = true,
			.targets_only = true,
			.stats = true,
			.max_chunks = 256,
		},
	};
	_cleanup_(session_freep) struct session *s = NULL;
	struct cost before = { 0 }, now;
	int event, r;

	r = session_open(&s, &opts, err);
	if (r == 0)
		r = cameo_warm_up(s, tid, err);
	if (r == 0)
		r = cameo_read(s, &before);
	if (r < 0)
		return r;
	now = before;
	event = event_open(tid, sampling_program());
	for (int i = 0; i < DEADLINE_S * 20 && now.runs - before.runs < n && r == 0; i++) {
		nap();
		r = session_stop(s, err); /* no event is attached; this only reads the ring */
		if (r == 0)
			r = cameo_read(s, &now);
	}
	close(event);
	*out = (struct cost){
		now.runs - before.runs,
		now.ns - before.ns,
		now.frames - before.frames,
		now.complete - before.complete,
	};
	return r;
}

static int ignore_record(void *ctx, void *data, size_t len)
{
	return 0;
}

static int kernel_cost(int tid, uint64_t n, struct cost *out, struct err *err)
{
	int stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME), prog_fd, event;
	struct fp_walk_bpf *skel = fp_walk_bpf__open_and_load();
	struct ring_buffer *ring;

	if (!skel)
		return err_set(err, -errno, "can't load fp_walk: %s", strerror(errno));
	ring = ring_buffer__new(bpf_map__fd(skel->maps.ring), ignore_record, NULL, NULL);
	prog_fd = bpf_program__fd(skel->progs.on_sample);
	event = event_open(tid, prog_fd);
	for (int i = 0; i < DEADLINE_S * 20 && out->runs < n; i++) {
		struct bpf_prog_info info = { 0 };
		uint32_t len = sizeof(info);

		nap();
		ring_buffer__consume(ring);
		if (bpf_obj_get_info_by_fd(prog_fd, &info, &len) < 0)
			return -errno;
		out->runs = info.run_cnt;
		out->ns = info.run_time_ns;
	}
	close(event);
	out->frames = skel->bss->n_frames;
	ring_buffer__free(ring);
	fp_walk_bpf__destroy(skel);
	close(stats_fd);
	return 0;
}

int main(int argc, char **argv)
{
	struct cost c = { 0 };
	struct err err = { 0 };
	int r;

	if (argc != 4)
		return 2;
	r = strcmp(argv[1], "cameo")
		    ? kernel_cost(atoi(argv[2]), strtoull(argv[3], NULL, 10), &c, &err)
		    : cameo_cost(atoi(argv[2]), strtoull(argv[3], NULL, 10), &c, &err);
	if (r < 0) {
		fprintf(stderr, "walk_cost: %s\n", err.msg[0] ? err.msg : strerror(-r));
		return 1;
	}
	printf("%llu %llu %llu %llu\n", (unsigned long long)c.runs, (unsigned long long)c.ns,
	       (unsigned long long)c.frames, (unsigned long long)c.complete);
	return 0;
}
