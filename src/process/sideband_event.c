/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records are copied out of the rings before any is delivered: the sort needs all of them, and a
 * callback may take long enough for a ring to fill up. The record layouts are those of
 * perf_event_open(2).
 *
 * The order is right because the caller delivers only up to a time at which it had read no ring
 * yet: what a CPU wrote before that time was in its ring when that was read. Later records stay in
 * the queue, since other CPUs may still write earlier ones. A CPU that was interrupted between
 * taking the time and writing its record can still be late, which the process table notices.
 */
#include "process/sideband_event.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* NUL bytes after each record in the pool; they keep records aligned. */
enum { POOL_PAD = 8 };

/* The data pages of a ring. */
struct data {
	const uint8_t *bytes;
	size_t len;
};

/* The end of each record, due to sample_id_all with PERF_SAMPLE_TID and PERF_SAMPLE_TIME. */
struct sample_id {
	uint32_t pid, tid;
	uint64_t time;
};

void sideband_queue_fini(struct sideband_queue *q)
{
	vec_fini(&q->pool);
	vec_fini(&q->pending);
}

/*
 * Appends the @len bytes at ring position @pos to the pool, with NUL bytes after them that end a
 * name which fills its record.
 */
static int pool_add(struct sideband_queue *q, const struct data *d, uint64_t pos, size_t len)
{
	size_t in = pos % d->len;
	size_t first = d->len - in < len ? d->len - in : len;
	int r = vec_reserve(&q->pool, q->pool.len + len + POOL_PAD);
	uint8_t *to;

	if (r < 0)
		return r;
	to = q->pool.data + q->pool.len;
	memcpy(to, d->bytes + in, first);
	memcpy(to + first, d->bytes, len - first);
	memset(to + len, 0, POOL_PAD);
	q->pool.len += len + POOL_PAD;
	return 0;
}

/* Time of a record; 0, so that it sorts first, for one too short to have a sample id. */
static uint64_t record_time(const struct perf_event_header *h)
{
	struct sample_id id;

	if (h->size < sizeof(*h) + sizeof(id))
		return 0;
	memcpy(&id, (const uint8_t *)h + h->size - sizeof(id), sizeof(id));
	return id.time;
}

int sideband_queue_read(struct sideband_queue *q, void *ring, size_t page, size_t data_len)
{
	struct perf_event_mmap_page *ctl = ring;
	const struct data data = { (const uint8_t *)ring + page, data_len };
	uint64_t head = __atomic_load_n(&ctl->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ctl->data_tail;
	int r = 0;

	while (tail < head) {
		size_t offset = q->pool.len;
		struct perf_event_header h;

		/* records and the ring are aligned to 8 bytes, so a header never wraps */
		memcpy(&h, data.bytes + tail % data_len, sizeof(h));
		if (h.size < sizeof(h))
			break;
		r = pool_add(q, &data, tail, h.size);
		if (r == 0)
			r = vec_push(
				&q->pending,
				(struct sideband_pending){
					record_time((void *)(q->pool.data + offset)), offset });
		if (r < 0)
			break;
		tail += h.size;
	}
	__atomic_store_n(&ctl->data_tail, tail, __ATOMIC_RELEASE);
	return r;
}

static int by_time(const void *a, const void *b)
{
	const struct sideband_pending *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
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

/* PERF_RECORD_FORK and PERF_RECORD_EXIT */
struct task_record {
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

/* Decodes a record, trusting its shape since the kernel wrote it. False: not of interest. */
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
	case PERF_RECORD_KSYMBOL:
		ev->type = SIDEBAND_KERNEL;
		return true;
	case PERF_RECORD_LOST:
		ev->type = SIDEBAND_LOST;
		ev->n_lost = ((const struct lost_record *)h)->lost;
		return true;
	default:
		return false;
	}
}

static int by_offset(const void *a, const void *b)
{
	const struct sideband_pending *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Removes the first @n records, which have been delivered, and moves the others together. */
static void queue_drop(struct sideband_queue *q, size_t n)
{
	size_t left = q->pending.len - n, len = 0;

	if (!n)
		return;
	memmove(q->pending.data, q->pending.data + n, left * sizeof(*q->pending.data));
	q->pending.len = left;
	if (left > 1)
		qsort(q->pending.data, left, sizeof(*q->pending.data), by_offset);
	for (size_t i = 0; i < left; i++) {
		struct sideband_pending *p = &q->pending.data[i];
		const struct perf_event_header *h = (const void *)(q->pool.data + p->offset);
		size_t size = h->size + POOL_PAD;

		memmove(q->pool.data + len, q->pool.data + p->offset, size);
		p->offset = len;
		len += size;
	}
	q->pool.len = len;
}

int sideband_queue_deliver(struct sideband_queue *q, uint64_t until_ns, sideband_fn fn, void *ctx)
{
	size_t i = 0;
	int n = 0;

	if (q->pending.len > 1)
		qsort(q->pending.data, q->pending.len, sizeof(*q->pending.data), by_time);
	for (; i < q->pending.len && q->pending.data[i].time_ns <= until_ns; i++) {
		const struct sideband_pending *p = &q->pending.data[i];
		struct sideband_event ev = { .time_ns = p->time_ns };

		if (!decode((const void *)(q->pool.data + p->offset), &ev))
			continue;
		fn(ctx, &ev);
		n++;
	}
	queue_drop(q, i);
	return n;
}
