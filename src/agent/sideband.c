/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One dummy perf event with its ring on each CPU. Records are copied out of
 * all rings and sorted by time before they are delivered: a process that
 * forks on one CPU and whose child execs on another is seen in that order.
 * Wake-ups need watermark = 1 (facts: wakeup_events does not count these).
 */
#include "agent/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "agent/cpus.h"
#include "base/err.h"
#include "base/vec.h"

enum {
	RING_PAGES = 64,
	RECORD_MAX = 65536, /* perf_event_header.size is 16 bits */
};

struct cpu_ring {
	int fd;
	void *mem; /* control page, then the data pages */
};

/* Where a copied record lies in the pool; sorted by time, then by arrival. */
struct pending {
	uint64_t time_ns;
	size_t at;
};

struct sideband {
	int epoll_fd;
	size_t page;
	struct {
		VEC(struct cpu_ring);
	} rings; /* by CPU; fd -1: none */
	struct {
		VEC(uint8_t);
	} pool;
	struct {
		VEC(struct pending);
	} pending;
};

/* sample_id_all with TID and TIME ends each record with these. */
struct sample_id {
	uint32_t pid, tid;
	uint64_t time;
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
	size_t len = sb->page * (RING_PAGES + 1);
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
		return 0; /* went offline meanwhile */
	if (r == -EPERM || r == -EACCES)
		return err_set(err, r,
			       "no permission to watch processes: run as root or with CAP_PERFMON "
			       "(kernel.perf_event_paranoid)");
	if (r < 0)
		return err_set(err, r, "can't watch processes on CPU %d: %s", cpu, strerror(-r));
	return 0;
}

static void ring_close(struct sideband *sb, struct cpu_ring *ring)
{
	if (ring->fd < 0)
		return;
	munmap(ring->mem, sb->page * (RING_PAGES + 1));
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
	int r = cpus_online(&cpus, err);

	for (size_t i = 0; i < cpus.len && r == 0; i++)
		r = sideband_add_cpu(sb, cpus.data[i], err);
	vec_fini(&cpus);
	return r;
}

int sideband_open(struct sideband **out, struct err *err)
{
	_cleanup_(sideband_freep) struct sideband *sb = calloc(1, sizeof(*sb));
	int r;

	if (!sb)
		return -ENOMEM;
	sb->page = (size_t)sysconf(_SC_PAGESIZE);
	sb->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (sb->epoll_fd < 0)
		return err_set(err, -errno, "epoll: %s", strerror(errno));
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
	vec_fini(&sb->pool);
	vec_fini(&sb->pending);
	free(sb);
}

int sideband_fd(const struct sideband *sb)
{
	return sb->epoll_fd;
}

/* Copy @len bytes at ring position @pos into the pool, NUL-terminated beyond their end. */
static int pool_copy(struct sideband *sb, const uint8_t *data, uint64_t pos, size_t len)
{
	size_t size = sb->page * RING_PAGES, in = pos % size;
	size_t first = size - in < len ? size - in : len;
	int r = vec_reserve(&sb->pool, sb->pool.len + len + 8);
	uint8_t *to;

	if (r < 0)
		return r;
	to = sb->pool.data + sb->pool.len;
	memcpy(to, data + in, first);
	memcpy(to + first, data, len - first);
	memset(to + len, 0, 8);
	sb->pool.len += len + 8;
	return 0;
}

/* A PERF_RECORD_LOST has no sample id of its own time that matters: it sorts first. */
static uint64_t record_time(const struct perf_event_header *h)
{
	struct sample_id id;

	if (h->size < sizeof(*h) + sizeof(id))
		return 0;
	memcpy(&id, (const uint8_t *)h + h->size - sizeof(id), sizeof(id));
	return id.time;
}

static int ring_drain(struct sideband *sb, const struct cpu_ring *ring)
{
	struct perf_event_mmap_page *ctl = ring->mem;
	const uint8_t *data = (const uint8_t *)ring->mem + sb->page;
	uint64_t head = __atomic_load_n(&ctl->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ctl->data_tail;
	int r = 0;

	while (tail < head && r == 0) {
		size_t at = sb->pool.len;
		struct perf_event_header h;

		/* records are aligned to 8 bytes, as is the ring: a header never wraps */
		memcpy(&h, data + tail % (sb->page * RING_PAGES), sizeof(h));
		if (h.size < sizeof(h))
			break;
		r = pool_copy(sb, data, tail, h.size);
		if (r == 0)
			r = vec_push(
				&sb->pending,
				(struct pending){ record_time((void *)(sb->pool.data + at)), at });
		tail += h.size;
	}
	__atomic_store_n(&ctl->data_tail, tail, __ATOMIC_RELEASE);
	return r;
}

static int by_time(const void *a, const void *b)
{
	const struct pending *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

struct mmap2_record {
	struct perf_event_header h;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	uint32_t prot, flags;
	char filename[];
};

static void decode_mmap2(const struct mmap2_record *m, struct sideband_event *ev)
{
	ev->type = SIDEBAND_MAP;
	ev->pid = m->pid;
	ev->tid = m->tid;
	ev->start = m->addr;
	ev->len = m->len;
	ev->file_off = m->pgoff;
	ev->name = m->filename;
	ev->dev_major = m->maj;
	ev->dev_minor = m->min;
	ev->inode = m->ino;
}

struct task_record { /* PERF_RECORD_FORK, PERF_RECORD_EXIT */
	struct perf_event_header h;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};

struct comm_record {
	struct perf_event_header h;
	uint32_t pid, tid;
	char comm[];
};

struct lost_record {
	struct perf_event_header h;
	uint64_t id, lost;
};

/* True if @h is an event that we deliver. The kernel wrote it, so its shape is trusted. */
static bool decode(const struct perf_event_header *h, struct sideband_event *ev)
{
	const struct task_record *t = (const void *)h;
	const struct comm_record *c = (const void *)h;

	switch (h->type) {
	case PERF_RECORD_MMAP2:
		if (h->misc & PERF_RECORD_MISC_MMAP_DATA)
			return false;
		decode_mmap2((const void *)h, ev);
		return true;
	case PERF_RECORD_COMM:
		ev->type = h->misc & PERF_RECORD_MISC_COMM_EXEC ? SIDEBAND_EXEC : SIDEBAND_COMM;
		ev->pid = c->pid;
		ev->tid = c->tid;
		ev->name = c->comm;
		return true;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		ev->type = h->type == PERF_RECORD_FORK ? SIDEBAND_FORK : SIDEBAND_EXIT;
		ev->pid = t->pid;
		ev->tid = t->tid;
		ev->ppid = t->ppid;
		return true;
	case PERF_RECORD_LOST:
		ev->type = SIDEBAND_LOST;
		ev->n_lost = ((const struct lost_record *)h)->lost;
		return true;
	default:
		return false;
	}
}

int sideband_consume(struct sideband *sb, sideband_fn fn, void *ctx)
{
	int n = 0, r = 0;

	sb->pool.len = 0;
	sb->pending.len = 0;
	for (size_t i = 0; i < sb->rings.len && r == 0; i++)
		if (sb->rings.data[i].fd >= 0)
			r = ring_drain(sb, &sb->rings.data[i]);
	if (sb->pending.len > 1)
		qsort(sb->pending.data, sb->pending.len, sizeof(*sb->pending.data), by_time);
	for (size_t i = 0; i < sb->pending.len; i++) {
		struct sideband_event ev = { .time_ns = sb->pending.data[i].time_ns };

		if (!decode((const void *)(sb->pool.data + sb->pending.data[i].at), &ev))
			continue;
		fn(ctx, &ev);
		n++;
	}
	return r < 0 ? r : n;
}
