/* SPDX-License-Identifier: Apache-2.0 */
/* Probes of functions in this program, whose offsets are computed from its mappings. */
#include "sampler/uprobe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "proc/maps.h"
#include "sampler/event.h"
#include "tests/test.h"

static const struct event_query here;
#include "tests/unit/symbol/tempdir.h"

/* A function to probe, also under the name of a C++ function: ns::probed(int). */
__attribute__((noinline, used)) void a_function_to_probe(void);
__attribute__((noinline, used)) void a_function_to_probe(void)
{
	__asm__ volatile("nop; nop");
}
void cxx_function(void) __asm__("_ZN2ns6probedEi");
__attribute__((noinline, used)) void cxx_function(void)
{
	__asm__ volatile("nop; nop; nop");
}
int a_variable_to_probe = 1;
static void resolved(void)
{
}
__attribute__((used)) static void (*resolve(void))(void)
{
	return resolved;
}
__attribute__((used)) void an_indirect_function(void) __attribute__((ifunc("resolve")));

static char own_path[PATH_MAX];

struct place {
	uint64_t address, offset;
};

static int find_offset(void *ctx, const struct proc_map *m)
{
	struct place *p = ctx;

	if (p->address < m->start || p->address >= m->end)
		return 0;
	p->offset = p->address - m->start + m->file_off;
	return 1;
}

static uint64_t offset_of(void (*function)(void))
{
	struct place p = { .address = (uint64_t)(uintptr_t)function };

	assert_int_equal(proc_maps_read(getpid(), PROC_MAPS_EXEC, find_offset, &p, NULL), 1);
	return p.offset;
}

static int setup(void **state)
{
	ssize_t n = readlink("/proc/self/exe", own_path, sizeof(own_path) - 1);

	own_path[n < 0 ? 0 : n] = '\0';
	return n > 0 ? 0 : -1;
}

static bool has_uprobes(void)
{
	return access("/sys/bus/event_source/devices/uprobe/type", R_OK) == 0;
}

/*
 * Parses "KIND:FILE:SYMBOL" and expects an offset in @path. Skips where the kernel has no probes.
 */
static void assert_found(const char *kind, const char *file, const char *symbol, uint32_t pid,
			 const char *path, uint64_t offset)
{
	struct event e = { 0 };
	struct err err = { 0 };
	char *text = NULL;
	int r;

	assert_true(asprintf(&text, "%s:%s:%s", kind, file, symbol) > 0);
	r = uprobe_parse(text, &(struct event_query){ .pid = pid }, &e, &err);
	if (!has_uprobes()) {
		assert_int_equal(r, -ENOTSUP);
		free(text);
		skip();
	}
	if (r < 0)
		fail_msg("%s: %s", text, err.msg);
	assert_int_equal(e.kind, EVENT_UPROBE);
	assert_int_equal(e.period, 1);
	assert_string_equal(e.path, path);
	assert_int_equal(e.offset, offset);
	free(e.path);
	free(e.name);
	free(text);
}

static void functions_of_a_file_are_found_by_name_and_by_address(void **state)
{
	uint64_t offset = offset_of(a_function_to_probe);

	assert_found("uprobe", own_path, "a_function_to_probe", 0, own_path, offset);
	assert_found("uprobe", own_path, "a_function_to_probe+1", 0, own_path, offset + 1);
	assert_found("uprobe", own_path, "a_function_to_probe+0x2", 0, own_path, offset + 2);
	assert_found("uprobe", own_path, "ns::probed", 0, own_path, offset_of(cxx_function));
	assert_found("uprobe", own_path, "_ZN2ns6probedEi+1", 0, own_path,
		     offset_of(cxx_function) + 1);
}

static void return_probes_have_another_configuration(void **state)
{
	struct event e[2] = { 0 };
	char text[PATH_MAX + 64];
	struct err err = { 0 };

	if (!has_uprobes())
		skip();
	for (int i = 0; i < 2; i++) {
		snprintf(text, sizeof(text), "%s:%s:a_function_to_probe",
			 i ? "uretprobe" : "uprobe", own_path);
		assert_int_equal(uprobe_parse(text, &here, &e[i], &err), 0);
	}
	assert_int_equal(e[0].type, e[1].type);
	assert_int_equal(e[0].config, 0);
	assert_int_not_equal(e[1].config, 0);
	assert_non_null(strstr(e[0].name, "uprobe:test-sampler:a_function_to_probe"));
	assert_int_equal(strncmp(e[1].name, "uretprobe:", 10), 0);
	for (int i = 0; i < 2; i++) {
		free(e[i].name);
		free(e[i].path);
	}
}

static void a_file_without_a_directory_is_one_that_the_process_has_mapped(void **state)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)getpid(), own_path);
	assert_found("uprobe", "test-sampler", "a_function_to_probe", (uint32_t)getpid(), path,
		     offset_of(a_function_to_probe));
}

static void assert_refused(const char *text, uint32_t pid, int code, const char *why)
{
	struct event e = { 0 };
	struct err err = { 0 };

	assert_int_equal(uprobe_parse(text, &(struct event_query){ .pid = pid }, &e, &err), code);
	if (!strstr(err.msg, why))
		fail_msg("%s: %s", text, err.msg);
	assert_null(e.name);
}

static void malformed_probes_are_refused(void **state)
{
	char text[2 * PATH_MAX];

	assert_refused("uprobe:", 0, -EINVAL, "expected uprobe:FILE:FUNCTION");
	assert_refused("uprobe:file", 0, -EINVAL, "expected uprobe:FILE:FUNCTION");
	assert_refused("uprobe::symbol", 0, -EINVAL, "expected uprobe:FILE:FUNCTION");
	assert_refused("uprobe:file:", 0, -EINVAL, "expected uprobe:FILE:FUNCTION");
	assert_refused("uretprobe:/bin/x:f+8", 0, -EINVAL, "a uretprobe cannot have an offset");
	snprintf(text, sizeof(text), "uprobe:/%0*d:f", PATH_MAX, 7);
	assert_refused(text, 0, -EINVAL, "expected uprobe:FILE:FUNCTION");
	snprintf(text, sizeof(text), "uprobe:/x:%0*d", PATH_MAX, 7);
	assert_refused(text, 0, -EINVAL, "expected uprobe:FILE:FUNCTION");
}

static void what_cannot_be_probed_is_refused(void **state)
{
	char text[PATH_MAX + 64];

#define OWN(symbol) (snprintf(text, sizeof(text), "uprobe:%s:%s", own_path, symbol), text)
	assert_refused(OWN("no_such_function"), 0, -ENOENT,
		       "cannot find function \"no_such_function\" in");
	assert_refused(OWN("a_variable_to_probe"), 0, -ENOENT, "cannot find function");
	assert_refused(OWN("an_indirect_function"), 0, -EINVAL, "is an indirect function (IFUNC)");
	assert_refused(OWN("0x12g"), 0, -EINVAL, "expected hexadecimal digits");
	assert_refused(OWN("0xffffffffffffffff"), 0, -ENOENT, "is outside of the code of");
	assert_refused(OWN("a_function_to_probe+0x7fffffffffff"), 0, -ENOENT, "is outside");
	/* A plus without a number belongs to the name. */
	assert_refused(OWN("operator+"), 0, -ENOENT, "cannot find function \"operator+\" in");
#undef OWN
	assert_refused("uprobe:/nowhere/x:f", 0, -ENOENT, "cannot open \"/nowhere/x\"");
	assert_refused("uprobe:/etc/passwd:f", 0, -ENOEXEC, "is not a program or library");
	assert_refused("uprobe:no-such-library:f", 0, -ENOENT, "cannot find a library or program");
	assert_refused("uprobe:no-such-library:f", (uint32_t)getpid(), -ENOENT,
		       "has not mapped a file \"no-such-library\"");
	assert_refused("uprobe:libc:f", INT_MAX, -ESRCH, "");
}

static void write_file(const char *dir, const char *name, const void *data, size_t len)
{
	char path[PATH_MAX];
	int fd;

	assert_true(snprintf(path, sizeof(path), "%s/%s", dir, name) < (int)sizeof(path));
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
}

static void truncated_programs_are_refused(void **state)
{
	int fd = open(own_path, O_RDONLY | O_CLOEXEC);
	char text[PATH_MAX + 64];
	uint8_t head[8192];
	struct event e = { 0 };

	assert_int_equal(read(fd, head, sizeof(head)), sizeof(head));
	close(fd);
	for (size_t len = 0; len < sizeof(head); len = len * 2 + 1) {
		char name[32];

		snprintf(name, sizeof(name), "cut%zu", len);
		write_file(*state, name, head, len);
		snprintf(text, sizeof(text), "uprobe:%s/%s:main", (char *)*state, name);
		assert_true(uprobe_parse(text, &here, &e, NULL) < 0);
	}
}

static void programs_of_the_path_are_found_if_they_are_elf(void **state)
{
	const char *before = getenv("PATH");
	char *saved = before ? strdup(before) : NULL, path[PATH_MAX];

	/* The first has a name that matches, but is a script. */
	snprintf(path, sizeof(path), "%s/first", (char *)*state);
	assert_int_equal(mkdir(path, 0700), 0);
	write_file(path, "cameo-probe-me", "#!/bin/sh\n", 10);
	snprintf(path, sizeof(path), "%s/cameo-probe-me", (char *)*state);
	assert_int_equal(symlink(own_path, path), 0);
	snprintf(path, sizeof(path), "%s/first:%s", (char *)*state, (char *)*state);
	setenv("PATH", path, 1);
	snprintf(path, sizeof(path), "%s/cameo-probe-me", (char *)*state);
	assert_found("uprobe", "cameo-probe-me", "a_function_to_probe", 0, path,
		     offset_of(a_function_to_probe));
	if (saved)
		setenv("PATH", saved, 1);
	else
		unsetenv("PATH");
	free(saved);
}

#define IN_DIR(f) cmocka_unit_test_setup_teardown(f, tempdir_make, tempdir_remove)

int test_uprobe(void);

int test_uprobe(void)
{
	const struct CMUnitTest tests[] = {
		TEST(functions_of_a_file_are_found_by_name_and_by_address),
		TEST(return_probes_have_another_configuration),
		TEST(a_file_without_a_directory_is_one_that_the_process_has_mapped),
		TEST(malformed_probes_are_refused),
		TEST(what_cannot_be_probed_is_refused),
		IN_DIR(truncated_programs_are_refused),
		IN_DIR(programs_of_the_path_are_found_if_they_are_elf),
	};

	return TEST_RUN("uprobe", tests, setup, NULL);
}
