/* SPDX-License-Identifier: Apache-2.0 */
/* Uses this process, as the owner of a perf map in /tmp, and machine.c's process table. */
#include "process/jit_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine.h"
#include "tests/test.h"

enum { START_NS = 5, NOBODY = 1 << 23 /* above the kernel's limit of pids */ };

struct world {
	struct machine m;
	struct jit_symbols *j;
	char path[64];
	uint32_t pid;
};

static int world_setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	*state = w;
	if (!w)
		return -1;
	machine_init(&w->m);
	w->pid = (uint32_t)getpid();
	/* only files of a program that still runs are used */
	process_table_handle(w->m.processes, &(struct sideband_event){ .type = SIDEBAND_EXEC,
								       .pid = w->pid,
								       .tid = w->pid,
								       .time_ns = START_NS,
								       .name = "test" });
	snprintf(w->path, sizeof(w->path), "/tmp/perf-%u.map", w->pid);
	unlink(w->path);
	return jit_symbols_new(&w->j, w->m.processes);
}

static int world_teardown(void **state)
{
	struct world *w = *state;

	unlink(w->path);
	jit_symbols_free(w->j);
	machine_fini(&w->m);
	free(w);
	return 0;
}

static void append(const struct world *w, const char *text)
{
	int fd = open(w->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* Reads what the runtime has published about all addresses of these tests. */
static void look_up(struct world *w)
{
	struct jit_symbols_address addrs[] = { { w->pid, START_NS, 0x3000 },
					       { NOBODY, START_NS, 0x1000 },
					       { w->pid, START_NS, 0x1000 },
					       { w->pid, START_NS, 0x2000 },
					       { w->pid, START_NS, 0x1005 } };

	assert_int_equal(jit_symbols_look_up(w->j, addrs, sizeof(addrs) / sizeof(*addrs), NULL), 0);
}

/* Checks the function at @addr; NULL: there is none. */
static void check(struct world *w, uint64_t addr, const char *name)
{
	const struct jit_symbols_address at = { w->pid, START_NS, addr };
	struct jit_symbols_function f;

	assert_int_equal(jit_symbols_find(w->j, &at, &f), name ? 0 : -ENOENT);
	if (!name)
		return;
	assert_string_equal(f.name, name);
	assert_string_equal(f.file, "");
	assert_int_equal(f.line, 0);
}

static void finds_what_a_runtime_has_published(void **state)
{
	struct world *w = *state;

	append(w, "1000 10 first\n");
	check(w, 0x1000, NULL); /* nothing is known before the first note */
	jit_symbols_note(w->j, w->pid, START_NS);
	look_up(w);
	check(w, 0x1005, "first");
	append(w, "2000 10 second\n");
	check(w, 0x2000, NULL);
	jit_symbols_note(w->j, w->pid, START_NS);
	look_up(w);
	check(w, 0x2000, "second");
	check(w, 0x1005, "first");
	check(w, 0x3000, NULL);
	assert_true(jit_symbols_bytes(w->j) > 0);
}

static void processes_without_files_have_no_symbols(void **state)
{
	struct world *w = *state;
	const struct jit_symbols_address at[] = { { NOBODY, START_NS, 0x1000 },
						  { NOBODY + 1, START_NS, 0x1000 } };
	struct jit_symbols_function f;

	jit_symbols_note(w->j, w->pid, START_NS);
	jit_symbols_note(w->j, NOBODY, START_NS);
	look_up(w);
	check(w, 0x1000, NULL);
	assert_int_equal(jit_symbols_find(w->j, &at[0], &f), -ENOENT);
	assert_int_equal(jit_symbols_find(w->j, &at[1], &f), -ENOENT);
}

static bool has_ended(void *ctx, uint32_t pid, uint64_t start_ns)
{
	assert_int_equal(start_ns, START_NS);
	return pid == *(uint32_t *)ctx;
}

static void an_ended_process_stays_for_two_more_windows(void **state)
{
	struct world *w = *state;
	uint32_t nobody = NOBODY;

	append(w, "1000 10 first\n");
	for (uint32_t i = 0; i < 50; i++) /* others, before and after it */
		jit_symbols_note(w->j, NOBODY + i, START_NS);
	jit_symbols_note(w->j, w->pid, START_NS);
	for (uint32_t i = 50; i < 100; i++)
		jit_symbols_note(w->j, NOBODY + i, START_NS);
	look_up(w);
	for (int i = 0; i < 5; i++) {
		jit_symbols_reap(w->j, has_ended, &nobody);
		check(w, 0x1000, "first"); /* others end */
	}
	for (int i = 0; i < 2; i++) {
		jit_symbols_reap(w->j, has_ended, &w->pid);
		check(w, 0x1000, "first");
	}
	jit_symbols_reap(w->j, has_ended, &nobody); /* it stays ended */
	check(w, 0x1000, NULL);
	jit_symbols_note(w->j, w->pid, START_NS); /* another program with the same pid */
	look_up(w);
	check(w, 0x1000, "first");
}

#define WORLD_TEST(fn) cmocka_unit_test_setup_teardown(fn, world_setup, world_teardown)

TEST_GROUP(test_jit_symbols, WORLD_TEST(finds_what_a_runtime_has_published),
	   WORLD_TEST(processes_without_files_have_no_symbols),
	   WORLD_TEST(an_ended_process_stays_for_two_more_windows))
