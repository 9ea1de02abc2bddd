/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the client, and the jobs in reader processes: a registry whose source is a reader reads
 * structures of CPython from the memory of this process.
 *
 * covers: src/reader/lang_job.c
 */
#include "reader/lang_client.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "memory.h"
#include "reader/lang_memory.h"
#include "roles/pool.h"
#include "tests/test.h"

enum { VM = 1, TIMEOUT_MS = 20000, HEAP = 32 << 20, MANY = 100, KILLS = 10 };

struct fixture {
	struct memory m; /* what this process has mapped at MEMORY_AT */
	void *mapped;
	struct lang_client *client;
	struct langs *langs;
	bool has_ended;
};

static bool is_current(void *ctx)
{
	const struct fixture *f = ctx;

	return !f->has_ended;
}

static int no_memory(void *ctx, uint64_t addr, void *dst, size_t len)
{
	fail_msg("the registry reads memory itself");
	return -EFAULT;
}

static int setup(void **state)
{
	const struct lang_client_opts opts = {
		.reader_bytes = HEAP,
		.timeout_ms = TIMEOUT_MS,
		.detect_ms = TIMEOUT_MS,
	};
	struct fixture *f = calloc(1, sizeof(*f));
	struct lang_source source;

	assert_non_null(f);
	*state = f;
	memory_init(&f->m, 11);
	f->m.process = (struct lang_process){
		.pid = (uint32_t)getpid(),
		.start_ns = 7,
		.read = no_memory,
		.is_current = is_current,
		.ctx = f,
	};
	f->mapped = mmap((void *)MEMORY_AT, MEMORY_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	assert_ptr_equal(f->mapped, (void *)MEMORY_AT);
	assert_int_equal(lang_client_new(&f->client, &opts, NULL), 0);
	assert_int_equal(langs_new(&f->langs, &f->m.tables, false), 0);
	lang_client_source(f->client, &source);
	langs_set_source(f->langs, &source);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	langs_free(f->langs);
	lang_client_free(f->client);
	munmap(f->mapped, MEMORY_BYTES);
	free(f);
	return 0;
}

/* Adds a function to the memory of this process. Returns the two words of a frame in it. */
static void add_function(struct fixture *f, const char *name, uint64_t words[2])
{
	uint64_t code = memory_code(&f->m, name, 5, "", 0);

	words[0] = VM_FRAME_WORD(0, VM, code);
	words[1] = VM_PLACE_WORD(0, memory_cookie(&f->m, code));
	memcpy(f->mapped, f->m.bytes, MEMORY_BYTES);
}

/* Weaves a stack of one activation. Returns the FRAME_SCRIPT word of its leaf. */
static uint64_t weave(struct fixture *f, const uint64_t *words, size_t n)
{
	const uint64_t native = FRAME_WORD(FRAME_NATIVE, 1) | 1ULL << VM_LOOP_SHIFT;
	const struct lang_stack in = { .process = f->m.process,
				       .words = &native,
				       .n_words = 1,
				       .vm_words = words,
				       .n_vm_words = n };
	static uint64_t out[LANG_STACK_MAX];

	assert_true(langs_weave(f->langs, &in, out) >= 1);
	return out[0];
}

static const char *name_of(struct fixture *f, uint64_t word)
{
	struct symbol_frame frame;

	langs_symbolize(f->langs, word, &frame);
	return frame.name;
}

static void names_come_from_the_memory_of_the_process(void **state)
{
	struct fixture *f = *state;
	struct symbol_frame frame;
	uint64_t words[2];

	add_function(f, "outer", words);
	langs_symbolize(f->langs, weave(f, words, 2), &frame);
	assert_string_equal(frame.name, "outer");
	assert_string_equal(frame.file, "memory.py");
	assert_int_equal(frame.start_line, 5);
}

static void all_functions_of_a_stack_are_requested_at_once(void **state)
{
	struct fixture *f = *state;
	uint64_t words[2 * MANY], word;
	struct role_counters before, after;
	char name[16];

	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		add_function(f, name, words + 2 * i);
	}
	lang_client_counters(f->client, &before);
	word = weave(f, words, 2 * (size_t)MANY);
	lang_client_counters(f->client, &after);
	/* a busy machine may take so long that the reader sends what it has */
	assert_in_range(after.requests - before.requests, 1, MANY / 4);
	assert_string_equal(name_of(f, word), "f0");
	assert_string_equal(name_of(f, weave(f, words + 2 * (MANY - 1), 2)), "f99");
	lang_client_counters(f->client, &before);
	assert_int_equal(before.requests, after.requests); /* All of them are known. */
}

static void garbage_is_unreadable(void **state)
{
	struct fixture *f = *state;
	uint64_t words[2] = { VM_FRAME_WORD(0, VM, 0x7f0000000000), VM_PLACE_WORD(0, 3) };

	assert_string_equal(name_of(f, weave(f, words, 2)), "[unreadable function]");
	words[0] = VM_FRAME_WORD(0, VM, MEMORY_AT);
	assert_string_equal(name_of(f, weave(f, words, 2)), "[stale function]");
}

static void another_program_in_the_process_is_not_read(void **state)
{
	struct fixture *f = *state;
	uint64_t words[2], word;

	add_function(f, "outer", words);
	f->has_ended = true;
	word = weave(f, words, 2);
	assert_string_equal(name_of(f, word), "[unreadable function]");
	f->has_ended = false; /* It was a mistake: what is missing is requested again. */
	assert_int_equal(weave(f, words, 2), word);
	assert_string_equal(name_of(f, word), "outer");
}

static void names_are_back_after_each_kill(void **state)
{
	struct fixture *f = *state;
	struct role_counters c;

	for (int i = 0; i < KILLS; i++) {
		uint64_t words[2],
			until_ns = clock_monotonic_ns() + (uint64_t)TIMEOUT_MS * CLOCK_MS_NS;
		char name[16];
		pid_t pid = lang_client_pid(f->client);

		snprintf(name, sizeof(name), "after%d", i);
		add_function(f, name, words);
		if (pid > 0)
			assert_int_equal(kill(pid, SIGKILL), 0);
		while (strcmp(name_of(f, weave(f, words, 2)), name) != 0) {
			assert_true(clock_monotonic_ns() < until_ns);
			usleep(10000);
		}
	}
	lang_client_counters(f->client, &c);
	assert_true(c.started > 1);
}

/* A process that is stopped in the middle of a job is replaced, and the process pays. */
static void a_reader_that_hangs_is_replaced(void **state)
{
	struct fixture *f = *state;
	const struct lang_client_opts opts = { .reader_bytes = HEAP, .timeout_ms = 50 };
	struct lang_client *client;
	struct lang_source source;
	struct role_counters c;
	uint64_t words[2], until_ns;

	assert_int_equal(lang_client_new(&client, &opts, NULL), 0);
	lang_client_source(client, &source);
	langs_set_source(f->langs, &source);
	add_function(f, "first", words);
	until_ns = clock_monotonic_ns() + (uint64_t)TIMEOUT_MS * CLOCK_MS_NS;
	while (strcmp(name_of(f, weave(f, words, 2)), "first") != 0)
		assert_true(clock_monotonic_ns() < until_ns); /* 50 ms may be short */
	add_function(f, "second", words);
	assert_int_equal(kill(lang_client_pid(client), SIGSTOP), 0);
	assert_string_equal(name_of(f, weave(f, words, 2)), "[unreadable function]");
	lang_client_counters(client, &c);
	assert_true(c.timeouts >= 1);
	assert_string_equal(name_of(f, weave(f, words, 2)), "[unreadable function]");
	lang_client_counters(client, &c);
	assert_true(c.refused >= 1); /* The process has to wait for a second. */
	while (strcmp(name_of(f, weave(f, words, 2)), "second") != 0) {
		assert_true(clock_monotonic_ns() < until_ns);
		usleep(10000);
	}
	lang_client_free(client);
}

static void files_that_are_no_runtime_are_none(void **state)
{
	struct fixture *f = *state;
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), text = memfd_create("text", 0);
	struct lang_file file = { .vm = 9 };

	assert_true(self >= 0 && text >= 0);
	assert_int_equal(write(text, "no program", 10), 10);
	langs_detect(f->langs, NULL, self, &file);
	assert_int_equal(file.vm, 0);
	assert_int_equal(file.runtime, 0);
	langs_detect(f->langs, NULL, text, &file);
	assert_int_equal(file.vm, 0);
	close(self);
	close(text);
}

static void descriptors_of_memory_are_kept_for_some_processes(void **state)
{
	struct fixture *f = *state;
	struct lang_memories memories;
	struct lang_process p = f->m.process;
	const struct lang_memory *first;

	lang_memories_init(&memories);
	first = lang_memories_get(&memories, &p);
	assert_non_null(first);
	assert_ptr_equal(lang_memories_get(&memories, &p), first);
	assert_int_equal(memories.clock, 2);
	for (int i = 0; i < LANG_MEMORIES_MAX; i++) {
		p.start_ns++;
		assert_non_null(lang_memories_get(&memories, &p));
	}
	assert_int_equal(first->start_ns, p.start_ns); /* The oldest one has made room. */
	p.pid = 0x7ffffffe;
	assert_null(lang_memories_get(&memories, &p));
	lang_memories_fini(&memories);
}

#define WITH(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

TEST_GROUP(test_lang_client, WITH(names_come_from_the_memory_of_the_process),
	   WITH(all_functions_of_a_stack_are_requested_at_once), WITH(garbage_is_unreadable),
	   WITH(another_program_in_the_process_is_not_read), WITH(names_are_back_after_each_kill),
	   WITH(a_reader_that_hangs_is_replaced), WITH(files_that_are_no_runtime_are_none),
	   WITH(descriptors_of_memory_are_kept_for_some_processes))
