/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tests create rings in memory as the kernel writes them: a control page, then the data, with
 * records that wrap at its end.
 */
#include "process/sideband_event.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test.h"

enum { PAGE = 4096, DATA_LEN = 4096, SEEN_MAX = 4096 };

struct ring {
	struct perf_event_mmap_page ctl __attribute__((aligned(PAGE)));
	uint8_t data[DATA_LEN] __attribute__((aligned(PAGE)));
};
_Static_assert(offsetof(struct ring, data) == PAGE, "the data follow the control page");

struct seen {
	struct sideband_event ev[SEEN_MAX];
	char names[SEEN_MAX][64];
	size_t n;
};

static struct ring *ring_new(uint64_t start)
{
	struct ring *r = aligned_alloc(PAGE, sizeof(*r));

	assert_non_null(r);
	memset(r, 0, sizeof(*r));
	r->ctl.data_head = r->ctl.data_tail = start;
	return r;
}

static void ring_bytes(struct ring *r, const void *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		r->data[r->ctl.data_head++ % DATA_LEN] = ((const uint8_t *)p)[i];
}

/* Writes a record: header, @body, sample id. */
static void ring_record(struct ring *r, uint32_t type, uint16_t misc, const void *body, size_t len,
			uint64_t time_ns)
{
	struct {
		uint32_t pid, tid;
		uint64_t time;
	} id = { 1, 1, time_ns };
	size_t size = sizeof(struct perf_event_header) + len + sizeof(id);
	struct perf_event_header h = { .type = type, .misc = misc, .size = (uint16_t)size };

	assert_int_equal(len % 8, 0);
	assert_true(r->ctl.data_head + size - r->ctl.data_tail <= DATA_LEN);
	ring_bytes(r, &h, sizeof(h));
	ring_bytes(r, body, len);
	ring_bytes(r, &id, sizeof(id));
}

static void ring_task(struct ring *r, uint32_t type, uint32_t pid, uint32_t ppid, uint32_t tid,
		      uint64_t time_ns)
{
	struct {
		uint32_t pid, ppid, tid, ptid;
		uint64_t time;
	} body = { pid, ppid, tid, ppid, time_ns };

	ring_record(r, type, 0, &body, sizeof(body), time_ns);
}

static void ring_comm(struct ring *r, uint16_t misc, uint32_t pid, const char *comm,
		      uint64_t time_ns)
{
	struct {
		uint32_t pid, tid;
		char comm[16];
	} body = { .pid = pid, .tid = pid };

	memcpy(body.comm, comm, strlen(comm));
	ring_record(r, PERF_RECORD_COMM, misc, &body, sizeof(body), time_ns);
}

static void ring_mmap(struct ring *r, uint16_t misc, const char *name, uint64_t time_ns)
{
	struct {
		uint32_t pid, tid;
		uint64_t addr, len, pgoff;
		uint32_t maj, min;
		uint64_t ino, generation;
		uint32_t prot, flags;
		char filename[40];
	} body = { 7, 8, 0x400000, 0x2000, 0x1000, 8, 1, 4711, 0, 5, 2, "" };

	memcpy(body.filename, name, strlen(name));
	ring_record(r, PERF_RECORD_MMAP2, misc, &body, sizeof(body), time_ns);
}

static void see(void *ctx, const struct sideband_event *ev)
{
	struct seen *s = ctx;

	assert_true(s->n < SEEN_MAX);
	if (ev->name)
		snprintf(s->names[s->n], sizeof(s->names[0]), "%s", ev->name);
	s->ev[s->n++] = *ev;
}

static struct seen *deliver(struct sideband_queue *q)
{
	struct seen *s = calloc(1, sizeof(*s));
	int n;

	assert_non_null(s);
	n = sideband_queue_deliver(q, UINT64_MAX, see, s);
	assert_int_equal(n, s->n);
	return s;
}

static struct seen *read_one(struct ring *r)
{
	struct sideband_queue q = { 0 };
	struct seen *s;

	assert_int_equal(sideband_queue_read(&q, r, PAGE, DATA_LEN), 0);
	s = deliver(&q);
	sideband_queue_fini(&q);
	return s;
}

static void decodes_each_kind_of_record(void **state)
{
	struct ring *r = ring_new(0);
	uint64_t lost[2] = { 99, 12 };
	struct seen *s;

	ring_mmap(r, 0, "/usr/bin/x", 1);
	ring_comm(r, 0, 7, "thread", 2);
	ring_comm(r, PERF_RECORD_MISC_COMM_EXEC, 7, "program", 3);
	ring_task(r, PERF_RECORD_FORK, 20, 7, 21, 4);
	ring_task(r, PERF_RECORD_EXIT, 20, 7, 22, 5);
	ring_record(r, PERF_RECORD_LOST, 0, lost, sizeof(lost), 6);
	s = read_one(r);
	assert_int_equal(s->n, 6);
	assert_int_equal(s->ev[0].type, SIDEBAND_MAP);
	assert_int_equal(s->ev[0].pid, 7);
	assert_int_equal(s->ev[0].tid, 8);
	assert_int_equal(s->ev[0].time_ns, 1);
	assert_int_equal(s->ev[0].start, 0x400000);
	assert_int_equal(s->ev[0].len, 0x2000);
	assert_int_equal(s->ev[0].file_off, 0x1000);
	assert_int_equal(s->ev[0].dev_major, 8);
	assert_int_equal(s->ev[0].dev_minor, 1);
	assert_int_equal(s->ev[0].inode, 4711);
	assert_string_equal(s->names[0], "/usr/bin/x");
	assert_int_equal(s->ev[1].type, SIDEBAND_COMM);
	assert_string_equal(s->names[1], "thread");
	assert_int_equal(s->ev[2].type, SIDEBAND_EXEC);
	assert_string_equal(s->names[2], "program");
	assert_int_equal(s->ev[3].type, SIDEBAND_FORK);
	assert_int_equal(s->ev[3].pid, 20);
	assert_int_equal(s->ev[3].ppid, 7);
	assert_int_equal(s->ev[3].tid, 21);
	assert_int_equal(s->ev[4].type, SIDEBAND_EXIT);
	assert_int_equal(s->ev[4].tid, 22);
	assert_int_equal(s->ev[5].type, SIDEBAND_LOST);
	assert_int_equal(s->ev[5].n_lost, 12);
	free(s);
	free(r);
}

static void skips_data_mappings_and_unknown_records(void **state)
{
	struct ring *r = ring_new(0);
	uint64_t body[2] = { 0 };
	struct seen *s;

	ring_mmap(r, PERF_RECORD_MISC_MMAP_DATA, "/data", 1);
	ring_record(r, PERF_RECORD_THROTTLE, 0, body, sizeof(body), 2);
	ring_comm(r, 0, 7, "x", 3);
	s = read_one(r);
	assert_int_equal(s->n, 1);
	assert_int_equal(s->ev[0].time_ns, 3);
	free(s);
	free(r);
}

/*
 * A process forks on one CPU and its child execs on another; the rings are read in the opposite
 * order.
 */
static void orders_the_records_of_several_rings_by_time(void **state)
{
	struct ring *a = ring_new(0), *b = ring_new(0);
	struct sideband_queue q = { 0 };
	struct seen *s;

	ring_comm(a, PERF_RECORD_MISC_COMM_EXEC, 20, "child", 200);
	ring_task(a, PERF_RECORD_EXIT, 20, 7, 20, 400);
	ring_task(b, PERF_RECORD_FORK, 20, 7, 20, 100);
	ring_comm(b, 0, 7, "renamed", 300);
	ring_comm(b, 0, 7, "again", 300);
	assert_int_equal(sideband_queue_read(&q, a, PAGE, DATA_LEN), 0);
	assert_int_equal(sideband_queue_read(&q, b, PAGE, DATA_LEN), 0);
	s = deliver(&q);
	assert_int_equal(s->n, 5);
	assert_int_equal(s->ev[0].type, SIDEBAND_FORK);
	assert_int_equal(s->ev[1].type, SIDEBAND_EXEC);
	assert_string_equal(s->names[2], "renamed");
	assert_string_equal(s->names[3], "again");
	assert_int_equal(s->ev[4].type, SIDEBAND_EXIT);
	free(s);
	s = deliver(&q);
	assert_int_equal(s->n, 0);
	free(s);
	sideband_queue_fini(&q);
	free(a);
	free(b);
}

/* Records pass through one ring many times: each arrives once and whole, wherever it wraps. */
static void reads_records_that_wrap_at_the_end_of_the_ring(void **state)
{
	struct ring *r = ring_new((1ULL << 40) - 8);
	const char *names[] = { "/a", "/usr/lib/libb.so", "/usr/lib/jvm/lib/server/libc.so.1" };
	uint64_t time_ns = 0;

	for (int round = 0; round < 200; round++) {
		int n = 1 + round % 25;
		struct seen *s;

		for (int i = 0; i < n; i++)
			ring_mmap(r, 0, names[(round + i) % 3], ++time_ns);
		s = read_one(r);
		assert_int_equal(r->ctl.data_tail, r->ctl.data_head);
		assert_int_equal(s->n, n);
		for (int i = 0; i < n; i++) {
			assert_string_equal(s->names[i], names[(round + i) % 3]);
			assert_int_equal(s->ev[i].time_ns, time_ns - (uint64_t)(n - 1 - i));
			assert_int_equal(s->ev[i].inode, 4711);
		}
		free(s);
	}
	free(r);
}

static void an_empty_ring_and_a_damaged_one_deliver_nothing(void **state)
{
	struct ring *r = ring_new(64);
	struct perf_event_header none = { 0 };
	struct seen *s = read_one(r);

	assert_int_equal(s->n, 0);
	free(s);
	ring_bytes(r, &none, sizeof(none));
	s = read_one(r);
	assert_int_equal(s->n, 0);
	free(s);
	free(r);
}

/*
 * Another CPU may still write earlier records than those after the time up to which all is known.
 */
static void later_records_wait_for_those_of_other_cpus(void **state)
{
	static const char *const names[] = { "/a", "/b", "/c", "/d" };
	static const uint64_t times[] = { 10, 40, 30, 20 };
	struct ring *r[] = { ring_new(0), ring_new(0) };
	struct sideband_queue q = { 0 };
	struct seen s = { 0 };

	for (int i = 0; i < 4; i++)
		ring_mmap(r[i & 1], 0, names[i], times[i]);
	assert_int_equal(sideband_queue_read(&q, r[1], PAGE, DATA_LEN), 0);
	assert_int_equal(sideband_queue_deliver(&q, 15, see, &s), 0);
	assert_int_equal(sideband_queue_read(&q, r[0], PAGE, DATA_LEN), 0);
	assert_int_equal(sideband_queue_deliver(&q, 25, see, &s), 2);
	assert_int_equal(sideband_queue_deliver(&q, 25, see, &s), 0);
	assert_int_equal(sideband_queue_deliver(&q, 40, see, &s), 2);
	assert_string_equal(s.names[0], "/a");
	assert_string_equal(s.names[1], "/d");
	assert_string_equal(s.names[2], "/c");
	assert_string_equal(s.names[3], "/b");
	assert_int_equal(q.pool.len, 0);
	sideband_queue_fini(&q);
	free(r[0]);
	free(r[1]);
}

TEST_GROUP(test_sideband_event, TEST(decodes_each_kind_of_record),
	   TEST(skips_data_mappings_and_unknown_records),
	   TEST(orders_the_records_of_several_rings_by_time),
	   TEST(later_records_wait_for_those_of_other_cpus),
	   TEST(reads_records_that_wrap_at_the_end_of_the_ring),
	   TEST(an_empty_ring_and_a_damaged_one_deliver_nothing))
