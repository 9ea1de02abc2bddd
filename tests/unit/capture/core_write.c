/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/capture/core.c tests that a written core file is read back. This file compares it with
 * what readelf(1) finds in it, and checks its limits.
 */
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "capture/core.h"
#include "capture/process_pages.h"
#include "tests/test.h"

/* A core file of this process, which readelf reads from a temporary file. */
struct written {
	struct core c;
	struct process_pages *pages;
	struct buf out;
	char path[32];
};

static int written_setup(void **state)
{
	struct written *w = calloc(1, sizeof(*w));

	*state = w;
	if (!w)
		return -1;
	w->c.pid = 1;
	return process_pages_new(&w->pages, getpid());
}

static int written_teardown(void **state)
{
	struct written *w = *state;

	if (w->path[0])
		unlink(w->path);
	buf_fini(&w->out);
	process_pages_free(w->pages);
	core_fini(&w->c);
	free(w);
	return 0;
}

static void add_file(struct written *w, const char *path, uint64_t start, uint64_t end,
		     uint64_t file_off)
{
	struct core_file f = { .path = path };
	struct core_region r = { start, end, file_off, (uint32_t)w->c.files.len, NULL };

	if (!path)
		r.file = CORE_NO_FILE;
	else
		assert_int_equal(vec_push(&w->c.files, f), 0);
	assert_int_equal(vec_push(&w->c.regions, r), 0);
}

static void finish(struct written *w)
{
	process_pages_scrub(w->pages);
	core_write(&w->out, &w->c, w->pages);
	assert_int_equal(buf_error(&w->out), 0);
}

/* Returns whether "readelf OPTION" prints @text about the file. */
static bool readelf_prints(struct written *w, const char *option, const char *text)
{
	char cmd[128], line[512];
	bool found = false;
	FILE *out;
	int fd;

	if (!w->path[0]) {
		snprintf(w->path, sizeof(w->path), "/tmp/cameo-core.XXXXXX");
		fd = mkstemp(w->path);
		assert_true(fd >= 0);
		assert_int_equal(write(fd, w->out.data, w->out.len), w->out.len);
		close(fd);
	}
	snprintf(cmd, sizeof(cmd), "readelf -W %s %s 2>&1", option, w->path);
	out = popen(cmd, "re");
	assert_non_null(out);
	while (fgets(line, sizeof(line), out)) {
		found |= strstr(line, text) != NULL;
		assert_null(strstr(line, "Warning"));
		assert_null(strstr(line, "Error"));
	}
	assert_int_equal(pclose(out), 0);
	return found;
}

static void readelf_finds_mappings_and_registers(void **state)
{
	struct written *w = *state;

	if (system("command -v readelf >/dev/null"))
		skip();
	add_file(w, "/bin/first", 0x400000, 0x402000, 0x1000);
	add_file(w, NULL, 0x500000, 0x501000, 0);
	add_file(w, "/lib/second.so", 0x7f0000000000, 0x7f0000004000, 0);
	finish(w);
	assert_true(readelf_prints(w, "-h", "CORE (Core file)"));
	assert_true(readelf_prints(w, "-n", "NT_PRSTATUS (prstatus structure)"));
	assert_true(readelf_prints(w, "-n", "NT_FILE (mapped files)"));
	assert_true(readelf_prints(w, "-l", "00007f0000000000"));
	assert_true(readelf_prints(w, "-l", "0000000000500000"));
}

static void every_register_is_read_back(void **state)
{
	struct written *w = *state;
	_cleanup_(core_fini) struct core c = { 0 };

	for (size_t i = 0; i < UREG_COUNT; i++)
		w->c.regs[i] = 0x1111 * (i + 1);
	w->c.thread_pointer = 0xf5;
	w->c.pid = 4711;
	finish(w);
	assert_int_equal(core_parse(&c, w->out.data, w->out.len, NULL), 0);
	assert_memory_equal(c.regs, w->c.regs, sizeof(c.regs));
	assert_int_equal(c.thread_pointer, 0xf5);
	assert_int_equal(c.pid, 4711);
	assert_int_equal(c.regions.len, 0);
	assert_int_equal(c.files.len, 0);
	assert_int_equal(c.trace_len, 0);
}

static void memory_that_is_stored_whole_is_read_back(void **state)
{
	struct written *w = *state;
	_cleanup_(core_fini) struct core c = { 0 };
	uint8_t bytes[2 * PROCESS_PAGE], word[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i / 3);
	add_file(w, NULL, 0x500000, 0x502000, 0);
	w->c.regions.data[0].bytes = bytes;
	finish(w);
	assert_int_equal(core_parse(&c, w->out.data, w->out.len, NULL), 0);
	assert_int_equal(c.regions.len, 1);
	assert_memory_equal(c.regions.data[0].bytes, bytes, sizeof(bytes));
	assert_int_equal(core_read_memory(&c, 0x501ff8, word, 8), 0);
	assert_memory_equal(word, bytes + 0x1ff8, 8);
}

/* Pages are stored in order of address, however they were read; each has the words that were. */
static void words_of_many_pages_are_read_back(void **state)
{
	enum { PAGES = 40 };
	struct written *w = *state;
	_cleanup_(core_fini) struct core c = { 0 };
	uint8_t *memory = aligned_alloc(PROCESS_PAGE, PAGES * PROCESS_PAGE);
	bool read_words[PAGES * PROCESS_PAGE_WORDS] = { 0 };

	assert_non_null(memory);
	srandom(6);
	for (size_t i = 0; i < PAGES * PROCESS_PAGE_WORDS; i++)
		memcpy(memory + 8 * i, &(uint64_t){ 0x5000000 + i }, 8);
	for (int i = 0; i < 500; i++) {
		size_t n = (size_t)random() % (PAGES * PROCESS_PAGE_WORDS);
		uint64_t word;

		assert_int_equal(process_pages_read(w->pages, (uintptr_t)memory + 8 * n, &word, 8),
				 0);
		read_words[n] = true;
	}
	finish(w);
	assert_int_equal(core_parse(&c, w->out.data, w->out.len, NULL), 0);
	for (size_t i = 0; i < PAGES * PROCESS_PAGE_WORDS; i++) {
		uint64_t word = 0;
		int r = core_read_memory(&c, (uintptr_t)memory + 8 * i, &word, 8);

		assert_int_equal(r == 0, read_words[i]);
		if (r == 0)
			assert_int_equal(word, 0x5000000 + i);
	}
	free(memory);
}

/* e_phnum has 16 bits. */
static void more_headers_than_the_elf_header_can_count_are_read_back(void **state)
{
	enum { N = 70000 };
	struct written *w = *state;
	_cleanup_(core_fini) struct core c = { 0 };

	for (uint64_t i = 0; i < N; i++)
		add_file(w, NULL, 0x10000 * (i + 1), 0x10000 * (i + 1) + 4096, 0);
	finish(w);
	assert_int_equal(core_parse(&c, w->out.data, w->out.len, NULL), 0);
	assert_int_equal(c.regions.len, N);
	assert_int_equal(c.regions.data[N - 1].start, 0x10000ULL * N);
	if (!system("command -v readelf >/dev/null"))
		assert_true(readelf_prints(w, "-h", "65535 (70001)"));
}

static void a_file_without_mappings_is_complete(void **state)
{
	struct written *w = *state;

	if (system("command -v readelf >/dev/null"))
		skip();
	finish(w);
	assert_true(readelf_prints(w, "-n", "NT_FILE (mapped files)"));
	assert_int_equal(w->out.len % PROCESS_PAGE, 0);
}

#define WRITTEN_TEST(fn) cmocka_unit_test_setup_teardown(fn, written_setup, written_teardown)

TEST_GROUP(test_core_write, WRITTEN_TEST(readelf_finds_mappings_and_registers),
	   WRITTEN_TEST(every_register_is_read_back),
	   WRITTEN_TEST(memory_that_is_stored_whole_is_read_back),
	   WRITTEN_TEST(words_of_many_pages_are_read_back),
	   WRITTEN_TEST(more_headers_than_the_elf_header_can_count_are_read_back),
	   WRITTEN_TEST(a_file_without_mappings_is_complete))
