/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/memory_plan.h"

#include <errno.h>

#include "base/err.h"

#define MIB (1ULL << 20)

/*
 * The parts of the process that do not grow: code, libraries, stacks, and the tables of a hundred
 * processes. 13.5 MiB were measured on a machine with two CPUs.
 */
#define BASE_BYTES (14 * MIB)
/*
 * Child processes, without the memory for their jobs: two openers, the launcher, an exporter and
 * three readers have 1.2 to 1.7 MiB each that they do not share with this process.
 */
#define CHILDREN_BYTES (10 * MIB)
/* Below this, the agent could not keep the tables of a few programs. */
#define SHARED_MIN (12 * MIB + QUEUE_MIN)
#define QUEUE_MIN  (MIB / 2)
/* With a smaller heap, the symbolizer cannot read the debug information of common programs. */
#define WORKER_MIN (4 * MIB)
/* With a smaller heap, a reader cannot make the unwind table of a C library. */
#define READER_MIN (3 * MIB)
/* A reader of language runtimes needs 2 MiB for most scripts, and 16 MiB for a large one. */
#define LANG_READER_MIN (3 * MIB / 2)
#define LANG_READER_MAX (32 * MIB)
/* A reader of perf maps and jitdumps needs 1 MiB, and more for unusual jitdumps. */
#define JIT_READER_MIN (1 * MIB)
#define JIT_READER_MAX (24 * MIB)
/* From this share of a reader on, two readers run at a time. A library of 100 MB needs 16 MiB. */
#define READER_ENOUGH (32 * MIB)
/* Lists of 5,000 mappings, and copies of small programs of remote file systems. */
#define OPENED_MIN (1 * MIB)
/*
 * The memory of a killed opener that hangs: HUNG_RELEASED if the kernel releases the memory of
 * processes that do not die, otherwise HUNG_KEPT.
 */
#define HUNG_RELEASED (32ULL << 10)
#define HUNG_KEPT     (3 * MIB / 2)

enum {
	PAGE = 4096,
	RING_PER_CPU = 1 << 20,
	RING_PER_CPU_MIN = 8 << 10,
	RING_MIN = 256 << 10,
	RING_MAX = 64 << 20,
	SIDEBAND = 256 << 10,
	SIDEBAND_MIN = 32 << 10,
	RING_SHARE = 8, /* as divisor: each kind of ring shrinks to this part of the memory */
	QUEUE_SHARE = 8,
	OPENED_SHARE = 16, /* lists of mappings and copies together */
	MAPS_SHARE = 4,    /* of OPENED_SHARE */
	MAPS_MAX = 4 << 20,
	COPIES_MAX = 64 << 20,
	HUNG_SHARE = 16,
	HUNG_MAX = 16,
	MILLE = 1000,
};

/*
 * Thousandths of the memory that is divided: tables, the symbolizer, the readers, four equal caches
 * and queues, mappings, and the counts, which may exceed their limit by a quarter: 250 + 210 + 200
 * + 70 + 4 * 36 + 24 + 70 * 5/4 + 14.
 */
enum {
	TABLES = 250,
	WORKER_RSS = 210,
	READERS = 200,
	LANG_READER = 70,
	CACHE = 36,
	MAPPINGS = 24,
	COUNTS = 70,
	PART = 14,
};
_Static_assert(TABLES + WORKER_RSS + READERS + LANG_READER + 4 * CACHE + MAPPINGS + COUNTS * 5 / 4 +
			       PART <=
		       MILLE,
	       "the parts are more than the whole");

/* The smallest power of two that is at least @n. */
static uint64_t power_of_two(uint64_t n)
{
	uint64_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

static uint64_t smallest_ring(uint32_t n_cpus)
{
	uint64_t bytes = power_of_two((uint64_t)n_cpus * RING_PER_CPU_MIN);

	return bytes < RING_MIN ? RING_MIN : bytes;
}

static uint64_t choose_ring(uint32_t n_cpus, uint64_t available)
{
	uint64_t smallest = smallest_ring(n_cpus);
	uint64_t bytes = power_of_two((uint64_t)n_cpus * RING_PER_CPU);

	if (bytes > RING_MAX)
		bytes = RING_MAX;
	while (bytes > smallest && bytes > available / RING_SHARE)
		bytes /= 2;
	return bytes;
}

/* The kernel adds a page of control data to each ring. */
static uint64_t sideband_total(uint32_t n_cpus, uint64_t bytes)
{
	return (uint64_t)n_cpus * (bytes + PAGE);
}

static uint64_t choose_sideband(uint32_t n_cpus, uint64_t available)
{
	uint64_t bytes = SIDEBAND;

	while (bytes > SIDEBAND_MIN && sideband_total(n_cpus, bytes) > available / RING_SHARE)
		bytes /= 2;
	return bytes;
}

static uint64_t at_least(uint64_t bytes, uint64_t min)
{
	return bytes < min ? min : bytes;
}

static uint64_t at_most(uint64_t bytes, uint64_t max)
{
	return bytes > max ? max : bytes;
}

/*
 * Divides what child processes may use. Perf maps are read while the symbolizer waits, so their
 * reader has the part of its memory that is for mapped files.
 */
static void share_children(struct memory_plan *p, uint64_t shared)
{
	p->worker_rss = at_least(shared / MILLE * WORKER_RSS, WORKER_MIN + JIT_READER_MIN);
	p->worker = at_least(p->worker_rss / 2, WORKER_MIN);
	p->jit_reader = at_most(p->worker_rss - p->worker, JIT_READER_MAX);
	p->readers = at_least(shared / MILLE * READERS, READER_MIN);
	p->n_readers = p->readers >= 2 * READER_ENOUGH ? 2 : 1;
	p->lang_reader = at_least(shared / MILLE * LANG_READER, LANG_READER_MIN);
	p->lang_reader = at_most(p->lang_reader, LANG_READER_MAX);
}

static void share(struct memory_plan *p, uint64_t shared)
{
	uint64_t unit;

	share_children(p, shared);
	unit = (shared - p->worker_rss - p->readers - p->lang_reader) /
	       (MILLE - WORKER_RSS - READERS - LANG_READER);
	p->tables = unit * TABLES;
	p->mappings = unit * MAPPINGS;
	p->addresses = p->symbols = p->scripts = p->backlog = unit * CACHE;
	/* the symbolizer process holds the symbol tables, in its heap */
	p->worker += p->symbols;
	p->worker_rss += p->symbols;
	p->counts = unit * COUNTS;
	p->window = p->counts / 2;
	p->part = unit * PART;
}

/*
 * Returns the size of the queue: at most its share of @available, and at most its minimum plus half
 * of what @available exceeds the minimum of all parts by.
 */
static uint64_t choose_queue(uint64_t wanted, uint64_t available)
{
	uint64_t bytes = at_most(available / QUEUE_SHARE, QUEUE_MIN + (available - SHARED_MIN) / 2);

	return at_most(wanted, bytes);
}

/* At least one opener may hang; more take at most an eighth of @available. */
static void choose_hung(struct memory_plan *p, uint64_t one, uint64_t available)
{
	uint64_t n = at_least(p->limit / HUNG_SHARE / one, 1);

	p->n_hung = (unsigned int)at_most(at_most(n, 1 + available / 8 / one), HUNG_MAX);
	p->hung_bytes = p->n_hung * one;
}

/* Divides what openers return: at most a quarter of what @available exceeds the minimum by. */
static void share_opened(struct memory_plan *p, uint64_t available)
{
	uint64_t opened = at_most(p->limit / OPENED_SHARE,
				  OPENED_MIN + (available - OPENED_MIN - SHARED_MIN) / 4);

	p->opened_maps = at_most(opened / MAPS_SHARE, MAPS_MAX);
	p->copies = at_most(opened - p->opened_maps, COPIES_MAX);
}

int memory_plan_make(struct memory_plan *out, const struct memory_needs *needs, struct err *err)
{
	uint32_t n = needs->n_cpus;
	const uint64_t hung = needs->hung_are_released ? HUNG_RELEASED : HUNG_KEPT;
	struct memory_plan p = { .limit = needs->limit };
	uint64_t least, left;

	p.fixed_bytes = BASE_BYTES + CHILDREN_BYTES + needs->scrape_bytes + needs->fixed_bytes +
			(uint64_t)n * needs->per_cpu_bytes;
	least = p.fixed_bytes + hung + smallest_ring(n) + sideband_total(n, SIDEBAND_MIN) +
		OPENED_MIN + SHARED_MIN;
	if (needs->limit < least)
		return err_set(err, -EINVAL,
			       "memory = %lluM is too small for %u possible CPUs: set it to at "
			       "least %lluM",
			       (unsigned long long)(needs->limit / MIB), n,
			       (unsigned long long)((least + MIB - 1) / MIB));
	left = needs->limit - p.fixed_bytes - hung;
	p.ring_bytes = (uint32_t)choose_ring(n, left - OPENED_MIN - SHARED_MIN);
	p.sideband_bytes = (uint32_t)choose_sideband(n, left - OPENED_MIN - SHARED_MIN);
	left -= p.ring_bytes + sideband_total(n, p.sideband_bytes);
	choose_hung(&p, hung, left - OPENED_MIN - SHARED_MIN);
	left -= p.hung_bytes - hung;
	share_opened(&p, left);
	left -= p.opened_maps + p.copies;
	p.queue_bytes = choose_queue(needs->queue_bytes, left);
	share(&p, left - p.queue_bytes);
	*out = p;
	return 0;
}

uint64_t memory_plan_total(const struct memory_plan *p, uint32_t n_cpus)
{
	return p->fixed_bytes + p->hung_bytes + p->ring_bytes +
	       sideband_total(n_cpus, p->sideband_bytes) + p->opened_maps + p->copies +
	       p->queue_bytes + p->tables + p->worker_rss + p->readers + p->lang_reader +
	       p->mappings + p->addresses + p->scripts + p->backlog + p->counts + p->counts / 4 +
	       p->part;
}
