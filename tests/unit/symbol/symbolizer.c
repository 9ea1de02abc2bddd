/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/symbolizer.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/confine.h"
#include "tests/test.h"
#include "tests/unit/symbol/tempdir.h"

extern const char __executable_start;

static __attribute__((noinline)) uintptr_t named_function(void)
{
	return (uintptr_t)({
		__label__ here;
	here:
		&&here;
	});
}

static uint64_t named_addr(void)
{
	return (uintptr_t)named_function - (uintptr_t)&__executable_start;
}

struct seen {
	int n;
	struct symbol_frame last;
	char name[200];
	int stop;
};

static int on_frames(void *ctx, size_t cookie, const struct symbol_frame *frames, size_t n)
{
	struct seen *s = ctx;

	s->n++;
	s->last = frames[n - 1];
	snprintf(s->name, sizeof(s->name), "%s", frames[n - 1].name);
	return s->stop;
}

static uint32_t add(struct symbolizer *s, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct symbolizer_file f = { .fd = fd, .root_fd = -1, .debug_fd = -1, .path = path };
	uint32_t id;

	assert_true(fd >= 0);
	assert_int_equal(symbolizer_add_file(s, &f, &id), 0);
	close(fd);
	return id;
}

static void resolves_a_function_with_its_line(void **state)
{
	struct symbolizer_opts opts = { 0 };
	struct symbolizer_counters c;
	struct symbolizer *s;
	struct seen seen = { 0 };
	uint64_t addrs[] = { named_addr(), 1 };
	uint32_t id;

	assert_true(named_function());
	assert_int_equal(symbolizer_new(&s, &opts), 0);
	id = add(s, "/proc/self/exe");
	assert_int_equal(symbolizer_resolve(s, id, SYMBOLIZER_VADDR, addrs, 2, on_frames, &seen),
			 0);
	assert_int_equal(seen.n, 1);
	assert_string_equal(seen.name, "named_function");
	assert_true(seen.last.line > 0);
	symbolizer_counters(s, &c);
	assert_int_equal(c.addresses, 2);
	assert_int_equal(c.by_source[SYMBOLIZER_DWARF], 1);
	assert_int_equal(c.by_source[SYMBOLIZER_UNNAMED], 1);
	symbolizer_free(s);
}

static void uses_the_symbol_table_without_dwarf(void **state)
{
	struct symbolizer_opts opts = { .no_dwarf = true };
	struct symbolizer_counters c;
	struct symbolizer *s;
	struct seen seen = { 0 };
	uint64_t addr = named_addr();
	uint32_t id;

	assert_int_equal(symbolizer_new(&s, &opts), 0);
	id = add(s, "/proc/self/exe");
	assert_int_equal(symbolizer_resolve(s, id, SYMBOLIZER_VADDR, &addr, 1, on_frames, &seen),
			 0);
	assert_string_equal(seen.name, "named_function");
	assert_int_equal(seen.last.line, 0);
	symbolizer_counters(s, &c);
	assert_int_equal(c.by_source[SYMBOLIZER_SYMTAB], 1);
	symbolizer_free(s);
}

static void the_same_file_has_one_id(void **state)
{
	struct symbolizer_opts opts = { .no_dwarf = true };
	struct symbolizer *s;
	uint32_t id;

	assert_int_equal(symbolizer_new(&s, &opts), 0);
	id = add(s, "/proc/self/exe");
	assert_int_equal(add(s, "/proc/self/exe"), id);
	assert_int_not_equal(add(s, "/etc/passwd"), id);
	assert_int_equal(add(s, "/etc/passwd"), add(s, "/etc/passwd"));
	symbolizer_free(s);
}

/* Adds this program, and another file with its size and build id. */
static void a_file_with_a_false_build_id_gets_its_own_symbols(void **state)
{
	struct symbolizer_opts opts = { .no_dwarf = true };
	struct symbolizer *s;
	struct seen seen = { 0 };
	uint64_t addr = named_addr();
	char cmd[512], path[128];
	uint32_t id, liar;

	snprintf(path, sizeof(path), "%s/liar", (char *)*state);
	snprintf(cmd, sizeof(cmd),
		 "cp /proc/%d/exe %s/copy && sed 's/named_function/famed_function/g' %s/copy > %s",
		 getpid(), (char *)*state, (char *)*state, path);
	assert_int_equal(system(cmd), 0);
	assert_int_equal(symbolizer_new(&s, &opts), 0);
	liar = add(s, path);
	id = add(s, "/proc/self/exe");
	assert_int_not_equal(liar, id);
	assert_int_equal(symbolizer_resolve(s, id, SYMBOLIZER_VADDR, &addr, 1, on_frames, &seen),
			 0);
	assert_string_equal(seen.name, "named_function");
	assert_int_equal(symbolizer_resolve(s, liar, SYMBOLIZER_VADDR, &addr, 1, on_frames, &seen),
			 0);
	assert_string_equal(seen.name, "famed_function");
	symbolizer_free(s);
}

static void still_resolves_over_its_budget(void **state)
{
	struct symbolizer_opts opts = { .no_dwarf = true, .memory_bytes = 1 };
	struct symbolizer_counters c;
	struct symbolizer *s;
	struct seen seen = { 0 };
	uint64_t addr = named_addr();
	uint32_t id;

	assert_int_equal(symbolizer_new(&s, &opts), 0);
	id = add(s, "/proc/self/exe");
	for (int i = 0; i < 3; i++)
		assert_int_equal(
			symbolizer_resolve(s, id, SYMBOLIZER_VADDR, &addr, 1, on_frames, &seen), 0);
	assert_int_equal(seen.n, 3);
	symbolizer_counters(s, &c);
	assert_true(c.bytes < 8192);
	symbolizer_free(s);
}

/* Adds all libraries of the system with a budget that a few of them exceed. */
static void many_files_stay_within_the_budget(void **state)
{
	enum { BUDGET = 4 << 20, FILES_MAX = 300 };
	struct symbolizer_opts opts = { .no_dwarf = true, .memory_bytes = BUDGET };
	const uint64_t addr = 0x5000;
	struct symbolizer_counters c;
	struct symbolizer *s;
	struct seen seen = { 0 };
	glob_t libs;

	if (glob("/usr/lib/*/lib*.so.*", 0, NULL, &libs) != 0)
		skip();
	assert_int_equal(symbolizer_new(&s, &opts), 0);
	for (size_t i = 0; i < libs.gl_pathc && i < FILES_MAX; i++) {
		uint32_t id = add(s, libs.gl_pathv[i]);

		assert_int_equal(
			symbolizer_resolve(s, id, SYMBOLIZER_VADDR, &addr, 1, on_frames, &seen), 0);
		symbolizer_counters(s, &c);
		assert_true(c.bytes <= BUDGET);
	}
	globfree(&libs);
	symbolizer_free(s);
}

static void a_released_file_is_closed_and_its_id_reused(void **state)
{
	struct symbolizer_opts opts = { .no_dwarf = true };
	struct symbolizer_counters c;
	struct symbolizer *s;
	struct seen seen = { 0 };
	uint64_t addr = named_addr();
	uint32_t id;

	assert_int_equal(symbolizer_new(&s, &opts), 0);
	id = add(s, "/proc/self/exe");
	assert_int_equal(add(s, "/proc/self/exe"), id);
	symbolizer_release_file(s, id);
	assert_int_equal(symbolizer_resolve(s, id, SYMBOLIZER_VADDR, &addr, 1, on_frames, &seen),
			 0);
	assert_int_equal(seen.n, 1);
	symbolizer_release_file(s, id);
	assert_int_equal(symbolizer_resolve(s, id, SYMBOLIZER_VADDR, &addr, 1, on_frames, &seen),
			 -EINVAL);
	symbolizer_counters(s, &c);
	assert_int_equal(c.files, 0);
	assert_int_equal(add(s, "/etc/passwd"), id);
	assert_int_not_equal(add(s, "/proc/self/exe"), id);
	symbolizer_free(s);
}

static void unknown_ids_fail_and_unknown_addresses_have_no_symbol(void **state)
{
	struct symbolizer_opts opts = { .no_dwarf = true };
	struct symbolizer *s;
	struct seen seen = { .stop = 7 };
	uint64_t addrs[] = { named_addr(), UINT64_MAX - 1 };
	uint32_t id;

	assert_int_equal(symbolizer_new(&s, &opts), 0);
	id = add(s, "/etc/passwd");
	assert_int_equal(symbolizer_resolve(s, id, SYMBOLIZER_VADDR, addrs, 2, on_frames, &seen),
			 0);
	assert_int_equal(symbolizer_resolve(s, id, SYMBOLIZER_OFFSET, addrs, 2, on_frames, &seen),
			 0);
	assert_int_equal(seen.n, 0);
	assert_int_equal(symbolizer_resolve(s, 99, SYMBOLIZER_VADDR, addrs, 2, on_frames, &seen),
			 -EINVAL);
	id = add(s, "/proc/self/exe");
	assert_int_equal(symbolizer_resolve(s, id, SYMBOLIZER_VADDR, addrs, 2, on_frames, &seen),
			 7);
	symbolizer_free(s);
}

/* Makes filters impossible in this process and its children. */
static int forbid_filters(void)
{
	struct sock_filter code[] = {
		CONFINE_BEGIN,
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_prctl, 0, 3),
		CONFINE_LOAD(args[0]),
		CONFINE_CALL(PR_SET_SECCOMP, SECCOMP_RET_ERRNO | EPERM),
		CONFINE_RETURN(SECCOMP_RET_ALLOW),
	};

	return confine_syscalls(code, sizeof(code) / sizeof(*code));
}

/* Returns true if nothing of the file was read, and the result has the reason. */
static bool nothing_is_read(void)
{
	const struct symbolizer_opts opts = { .no_dwarf = true };
	struct symbolizer_counters c;
	struct seen seen = { 0 };
	uint64_t addr = named_addr();
	struct symbolizer *s;
	uint32_t id;

	if (symbolizer_new(&s, &opts) < 0)
		return false;
	id = add(s, "/proc/self/exe");
	if (symbolizer_facts(s, id) ||
	    symbolizer_resolve(s, id, SYMBOLIZER_VADDR, &addr, 1, on_frames, &seen) != 0)
		return false;
	symbolizer_counters(s, &c);
	return seen.n == 1 && seen.last.missing == SYMBOL_NO_SYMBOLIZER &&
	       seen.last.is_preliminary && !strstr(seen.name, "named_function") &&
	       strstr(seen.name, "symbolizer cannot be started") &&
	       c.by_source[SYMBOLIZER_GIVEN_UP] == 1 && *symbolizer_confinement(s);
}

static void without_a_sandbox_nothing_is_read(void **state)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(forbid_filters() < 0 ? 2 : !nothing_is_read());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

TEST_GROUP(test_symbolizer, TEST(resolves_a_function_with_its_line),
	   TEST(uses_the_symbol_table_without_dwarf), TEST(the_same_file_has_one_id),
	   cmocka_unit_test_setup_teardown(a_file_with_a_false_build_id_gets_its_own_symbols,
					   tempdir_make, tempdir_remove),
	   TEST(still_resolves_over_its_budget), TEST(many_files_stay_within_the_budget),
	   TEST(a_released_file_is_closed_and_its_id_reused),
	   TEST(without_a_sandbox_nothing_is_read),
	   TEST(unknown_ids_fail_and_unknown_addresses_have_no_symbol))
