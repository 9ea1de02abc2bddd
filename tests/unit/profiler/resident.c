/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of this process and of its children, with faults that the tests invent. */
#include "profiler/resident.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/shared/abi.h"
#include "proc/resident_pages.h"
#include "profiler/sample_counts.h"
#include "tests/test.h"

enum { PAGES = 256, MEBIBYTE = 1 << 20 };

static struct sample_counts_thread thread_of(pid_t pid)
{
	return (struct sample_counts_thread){ .pid = (uint32_t)pid, .tid = (uint32_t)pid };
}

static struct record_header header(pid_t pid, uint64_t start_ns, uint32_t exec_id)
{
	return (struct record_header){ .pid = (uint32_t)pid,
				       .tid = (uint32_t)pid,
				       .program = { .start_ns = start_ns, .exec_id = exec_id } };
}

/* A write to each page of @p by the stack @word. */
static void touch(struct resident *r, struct record_header h, const char *p, size_t n_pages,
		  uint64_t word)
{
	struct sample_counts_thread t = thread_of((pid_t)h.pid);

	for (size_t i = 0; i < n_pages; i++) {
		h.flags = RECORD_FAULT | RECORD_FAULT_WRITE;
		h.arg = (uintptr_t)p + i * PROC_PAGE_BYTES;
		resident_touch(r, &h, &t, NULL, &word, 1);
	}
}

static struct sample_counts *attribute(struct resident *r)
{
	struct sample_counts *c;

	assert_int_equal(sample_counts_new(&c, false), 0);
	assert_int_equal(resident_attribute(r, c), 0);
	return c;
}

/* The bytes of the stacks whose outermost word is @word. */
static uint64_t bytes_of(const struct sample_counts *c, uint64_t word)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < sample_counts_n_samples(c); i++) {
		const struct sample_counts_sample *s = sample_counts_sample(c, i);
		size_t n;
		const uint64_t *words = sample_counts_stack(c, s->stack, &n);

		sum += n && words[n - 1] == word ? s->bytes : 0;
	}
	return sum;
}

/* The bytes of the stacks whose outermost frame has this text. */
static uint64_t bytes_with_text(const struct resident *r, const struct sample_counts *c,
				const char *text)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < sample_counts_n_samples(c); i++) {
		const struct sample_counts_sample *s = sample_counts_sample(c, i);
		size_t n;
		const uint64_t *words = sample_counts_stack(c, s->stack, &n);

		if (n && words[n - 1] >> FRAME_KIND_SHIFT == FRAME_TEXT &&
		    !strcmp(resident_text(r, words[n - 1] & FRAME_PAYLOAD_MASK), text))
			sum += s->bytes;
	}
	return sum;
}

/* The memory shares no block of 64 KiB with other memory, whose pages would have the same stack. */
static char *map_memory(size_t bytes)
{
	enum { BLOCK = 65536 };
	char *p = mmap(NULL, bytes + BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return (char *)(((uintptr_t)p + BLOCK - 1) / BLOCK * BLOCK);
}

static void memory_belongs_to_the_stacks_that_touched_it(void **state)
{
	const struct record_header h = header(getpid(), 1, 1);
	const struct sample_counts_thread t = thread_of(getpid());
	char *a = map_memory(MEBIBYTE), *b = map_memory(MEBIBYTE), *dropped = map_memory(MEBIBYTE);
	struct resident_stats stats;
	struct sample_counts *c;
	struct resident *r;

	assert_int_equal(resident_new(&r, 64 << 20), 0);
	memset(b, 1, MEBIBYTE / 2);
	resident_snapshot(r, &h);
	memset(a, 1, MEBIBYTE);
	memset(dropped, 1, MEBIBYTE);
	touch(r, h, a, PAGES, 100);
	touch(r, h, dropped, PAGES, 200);
	madvise(dropped, MEBIBYTE, MADV_DONTNEED);
	memset(b + MEBIBYTE / 2, 1, MEBIBYTE / 2); /* without a fault that was seen */
	resident_read(r, &h, &t);
	c = attribute(r);
	resident_stats(r, &stats);
	assert_int_equal(bytes_of(c, 100), MEBIBYTE);
	assert_int_equal(bytes_of(c, 200), 0);
	assert_int_equal(stats.n_programs, 1);
	assert_int_equal(stats.n_unread, 0);
	if (bytes_with_text(r, c, "[present before the recording]")) { /* since Linux 6.7 */
		assert_true(bytes_with_text(r, c, "[fault not seen]") >= MEBIBYTE / 2);
		assert_true(stats.before_bytes >= MEBIBYTE / 2);
	}
	assert_int_equal(stats.bytes, MEBIBYTE + stats.before_bytes + stats.unseen_bytes);
	sample_counts_free(c);
	resident_free(r);
	munmap(a, MEBIBYTE);
	munmap(b, MEBIBYTE);
	munmap(dropped, MEBIBYTE);
}

static int add_rss(void *ctx, const struct proc_resident_mapping *m)
{
	*(uint64_t *)ctx += m->rss_bytes;
	return 0;
}

/*
 * A stopped child with @bytes of memory that it touched itself. If it were only waiting, it could
 * touch another page, of the code that it waits in, between two readings.
 */
static pid_t start_child(char *memory, size_t bytes)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		memset(memory, 2, bytes);
		raise(SIGSTOP);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void a_child_has_the_stacks_of_its_parent(void **state)
{
	char *a = map_memory(MEBIBYTE), *b = map_memory(MEBIBYTE);
	struct record_header parent = header(getpid(), 1, 1), child;
	uint64_t rss = 0, sum = 0;
	struct sample_counts_thread t;
	struct sample_counts *c;
	struct resident *r;
	pid_t pid;

	assert_int_equal(resident_new(&r, 64 << 20), 0);
	memset(a, 1, MEBIBYTE);
	touch(r, parent, a, PAGES, 100);
	pid = start_child(b, MEBIBYTE);
	child = header(pid, 2, 1);
	t = thread_of(pid);
	child.arg = (uint64_t)getpid();
	assert_false(resident_knows(r, (uint32_t)pid));
	resident_begin(r, &child);
	assert_true(resident_knows(r, (uint32_t)pid));
	touch(r, child, b, PAGES, 200);
	resident_read(r, &child, &t);
	assert_int_equal(proc_resident_mappings((uint32_t)pid, add_rss, &rss, NULL), 0);
	end_child(pid);
	c = attribute(r);
	assert_int_equal(bytes_of(c, 100), MEBIBYTE);
	assert_int_equal(bytes_of(c, 200), MEBIBYTE);
	for (size_t i = 0; i < sample_counts_n_samples(c); i++) {
		const struct sample_counts_sample *s = sample_counts_sample(c, i);

		sum += s->bytes;
		assert_int_equal(sample_counts_thread(c, s->thread)->pid, pid);
	}
	assert_int_equal(sum, rss);
	resident_reap(r);
	assert_false(resident_knows(r, (uint32_t)pid));
	sample_counts_free(c);
	resident_free(r);
	munmap(a, MEBIBYTE);
	munmap(b, MEBIBYTE);
}

static void memory_without_a_fault_belongs_to_its_mapper(void **state)
{
	char *a = map_memory(2 * MEBIBYTE);
	struct record_header h = header(getpid(), 1, 1);
	const struct sample_counts_thread t = thread_of(getpid());
	const uint64_t word = 300;
	struct sample_counts *c;
	struct resident *r;

	assert_int_equal(resident_new(&r, 64 << 20), 0);
	memset(a, 1, 2 * MEBIBYTE);
	touch(r, h, a, 2 * PAGES, 100);
	h.flags = RECORD_MAPPED;
	h.time_ns = 1;
	h.arg = (uintptr_t)a;
	h.len = MEBIBYTE;
	resident_map(r, &h);
	resident_touch(r, &h, &t, NULL, &word, 1);
	resident_read(r, &h, &t);
	c = attribute(r);
	assert_int_equal(bytes_of(c, 100), MEBIBYTE);
	assert_int_equal(bytes_of(c, 300), MEBIBYTE);
	sample_counts_free(c);
	resident_free(r);
	munmap(a, 2 * MEBIBYTE);
}

static void an_exec_begins_with_nothing(void **state)
{
	char *a = map_memory(MEBIBYTE);
	struct record_header before = header(getpid(), 1, 1), after = header(getpid(), 1, 2);
	const struct sample_counts_thread t = thread_of(getpid());
	struct sample_counts *c;
	struct resident *r;

	assert_int_equal(resident_new(&r, 64 << 20), 0);
	memset(a, 1, MEBIBYTE);
	touch(r, before, a, PAGES, 100);
	resident_begin(r, &after);
	touch(r, before, a, PAGES, 100); /* a record that comes late */
	touch(r, after, a, PAGES / 2, 200);
	resident_read(r, &after, &t);
	c = attribute(r);
	assert_int_equal(bytes_of(c, 100), 0);
	assert_int_equal(bytes_of(c, 200), MEBIBYTE / 2);
	sample_counts_free(c);
	resident_free(r);
	munmap(a, MEBIBYTE);
}

static void memory_is_limited_and_the_rest_is_counted(void **state)
{
	struct record_header h = header(getpid(), 1, 1);
	struct resident_stats stats;
	struct resident *r;

	assert_int_equal(resident_new(&r, 1 << 20), 0);
	for (uint64_t i = 0; i < 100000; i++)
		touch(r, h, (const char *)(i << 24), 1, i);
	resident_stats(r, &stats);
	assert_true(resident_bytes(r) < 3 << 20);
	assert_true(stats.n_no_room > 50000);
	resident_free(r);
}

static void what_has_ended_is_not_an_error(void **state)
{
	char *a = map_memory(MEBIBYTE);
	pid_t pid = start_child(a, MEBIBYTE);
	struct record_header h = header(pid, 2, 1);
	const struct sample_counts_thread t = thread_of(pid);
	struct resident_stats stats;
	struct sample_counts *c;
	struct resident *r;

	assert_int_equal(resident_new(&r, 64 << 20), 0);
	resident_begin(r, &h);
	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT); /* a zombie */
	resident_snapshot(r, &h);
	resident_read(r, &h, &t);
	waitpid(pid, NULL, 0);
	resident_read(r, &h, &t);
	c = attribute(r);
	resident_stats(r, &stats);
	assert_int_equal(sample_counts_n_samples(c), 0);
	assert_int_equal(stats.n_programs, 0);
	assert_int_equal(stats.n_unread, 0);
	sample_counts_free(c);
	resident_free(r);
	munmap(a, MEBIBYTE);
}

TEST_GROUP(test_resident, TEST(memory_belongs_to_the_stacks_that_touched_it),
	   TEST(a_child_has_the_stacks_of_its_parent),
	   TEST(memory_without_a_fault_belongs_to_its_mapper), TEST(an_exec_begins_with_nothing),
	   TEST(memory_is_limited_and_the_rest_is_counted), TEST(what_has_ended_is_not_an_error))
