/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One dummy perf event with a ring of its own on each CPU. It counts nothing; its attributes make
 * the kernel write side-band records. Wake-ups need watermark = 1: wakeup_events counts samples
 * only, not side-band records.
 */
#include "process/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/err.h"
#include "base/vec.h"
#include "sampler/cpu_list.h"

enum { RING_BYTES = 256 << 10 };

struct cpu_ring {
	int fd;
	void *mem; /* control page, then the data */
};

struct sideband {
	int epoll_fd;
	size_t page, ring_bytes;
	struct {
		VEC(struct cpu_ring);
	} rings; /* by CPU; fd -1: not open */
	struct sideband_queue queue;
};

static int ring_open_event(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.ksymbol = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int ring_open(struct sideband *sb, int cpu, struct cpu_ring *out)
{
	struct epoll_event ev = { .events = EPOLLIN };
	_cleanup_(closep) int fd = -1;
	size_t len = sb->page + sb->ring_bytes;
	void *mem;

	fd = ring_open_event(cpu);
	if (fd < 0)
		return fd;
	mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED)
		return -errno;
	if (epoll_ctl(sb->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0) {
		munmap(mem, len);
		return -errno;
	}
	*out = (struct cpu_ring){ .fd = steal_fd(&fd), .mem = mem };
	return 0;
}

static int sideband_add_cpu(struct sideband *sb, int cpu, struct err *err)
{
	int r;

	while (sb->rings.len <= (size_t)cpu) {
		r = vec_push(&sb->rings, (struct cpu_ring){ .fd = -1 });
		if (r < 0)
			return r;
	}
	if (sb->rings.data[cpu].fd >= 0)
		return 0;
	r = ring_open(sb, cpu, &sb->rings.data[cpu]);
	if (r == -ENODEV || r == -ENXIO)
		return 0; /* the CPU went offline after its number was read */
	if (r == -EPERM || r == -EACCES)
		return err_set(err, r,
			       "no permission to watch processes (see kernel.perf_event_paranoid): "
			       "run as root or with CAP_PERFMON");
	if (r < 0)
		return err_set(err, r, "cannot watch processes on CPU %d: %s", cpu, strerror(-r));
	return 0;
}

static void ring_close(struct sideband *sb, struct cpu_ring *ring)
{
	if (ring->fd < 0)
		return;
	munmap(ring->mem, sb->page + sb->ring_bytes);
	close(ring->fd);
	ring->fd = -1;
}

int sideband_reopen_cpu(struct sideband *sb, int cpu, struct err *err)
{
	if ((size_t)cpu < sb->rings.len)
		ring_close(sb, &sb->rings.data[cpu]);
	return sideband_add_cpu(sb, cpu, err);
}

int sideband_update_cpus(struct sideband *sb, struct err *err)
{
	struct cpu_list cpus = { 0 };
	int r = cpu_list_online(&cpus, err);

	for (size_t i = 0; i < cpus.len && r == 0; i++)
		r = sideband_add_cpu(sb, cpus.data[i], err);
	vec_fini(&cpus);
	return r;
}

int sideband_open(struct sideband **out, uint32_t ring_bytes, struct err *err)
{
	_cleanup_(sideband_freep) struct sideband *sb = calloc(1, sizeof(*sb));
	int r;

	if (!sb)
		return -ENOMEM;
	sb->page = (size_t)sysconf(_SC_PAGESIZE);
	sb->ring_bytes = ring_bytes ? ring_bytes : RING_BYTES;
	sb->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (sb->epoll_fd < 0)
		return err_set(err, -errno, "cannot create an epoll instance: %s", strerror(errno));
	r = sideband_update_cpus(sb, err);
	if (r < 0)
		return r;
	*out = steal_ptr(&sb);
	return 0;
}

void sideband_free(struct sideband *sb)
{
	if (!sb)
		return;
	for (size_t i = 0; i < sb->rings.len; i++)
		ring_close(sb, &sb->rings.data[i]);
	closep(&sb->epoll_fd);
	vec_fini(&sb->rings);
	sideband_queue_fini(&sb->queue);
	free(sb);
}

int sideband_fd(const struct sideband *sb)
{
	return sb->epoll_fd;
}

bool sideband_has_pending(const struct sideband *sb)
{
	return sb->queue.pending.len;
}

int sideband_consume(struct sideband *sb, uint64_t until_ns, sideband_fn fn, void *ctx)
{
	int n, r = 0;

	for (size_t i = 0; i < sb->rings.len && r == 0; i++)
		if (sb->rings.data[i].fd >= 0)
			r = sideband_queue_read(&sb->queue, sb->rings.data[i].mem, sb->page,
						sb->ring_bytes);
	n = sideband_queue_deliver(&sb->queue, until_ns, fn, ctx);
	return r < 0 ? r : n;
}

uint64_t sideband_bytes(const struct sideband *sb)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < sb->rings.len; i++)
		if (sb->rings.data[i].fd >= 0)
			bytes += sb->ring_bytes + sb->page;
	return bytes;
}
