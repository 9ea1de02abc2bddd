/* SPDX-License-Identifier: Apache-2.0 */
/* Hints name the installed package of a file whose functions have no symbol, and nothing else. */
#include "cli/package_hints.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#include "profile/profile.h"
#include "tests/test.h"

static int make_dir(void **state)
{
	char *dir = strdup("/tmp/package-hints.XXXXXX");

	*state = dir;
	return dir && mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char path[512];
	struct dirent *e;
	DIR *d = opendir(*state);

	while (d && (e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", (char *)*state, e->d_name);
		unlink(path);
	}
	if (d)
		closedir(d);
	rmdir(*state);
	free(*state);
	return 0;
}

static void write_list(void *const *state, const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", (char *)*state, name);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static uint32_t string(struct profile *p, const char *text)
{
	uint32_t id;

	assert_int_equal(profile_add_string(p, text, strlen(text), &id), 0);
	return id;
}

/* Adds a sample of @value in the function @name of a file. */
static void add(struct profile *p, const char *path, const char *build_id, const char *name,
		int64_t value)
{
	struct profile_mapping m = { .limit = 4096,
				     .file = string(p, path),
				     .build_id = string(p, build_id) };
	struct profile_function f = { .name = string(p, name) };
	struct profile_line line = { 0 };
	struct profile_location l = { .n_lines = 1, .lines = &line, .address = 16 };
	struct profile_sample s = { .values = &value };
	uint32_t location;

	assert_int_equal(profile_add_mapping(p, &m, &l.mapping), 0);
	assert_int_equal(profile_add_function(p, &f, &line.function), 0);
	assert_int_equal(profile_add_location(p, &l, &location), 0);
	assert_int_equal(profile_add_stack(p, &location, 1, &s.stack), 0);
	assert_int_equal(profile_add_sample(p, &s), 0);
}

static struct profile *empty(void)
{
	struct profile *p;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	return p;
}

static void files_are_attributed_to_their_packages(void **state)
{
	_cleanup_(profile_freep) struct profile *p = empty();
	struct package_hints h;

	write_list(state, "php8.2-cli.list", "/.\n/usr/bin/php8.2\n");
	write_list(state, "libz1:amd64.list", "/lib/x86_64-linux-gnu/libz.so.1\n/usr/x\n");
	write_list(state, "libc6:amd64.list", "/lib/x86_64-linux-gnu/libc.so.6");
	add(p, "/usr/bin/php8.2", "", "[php8.2+0x17e9d0]", 50);
	add(p, "/usr/lib/x86_64-linux-gnu/libz.so.1", "", "[libz.so.1+0x4970]", 30);
	add(p, "/usr/lib/x86_64-linux-gnu/libc.so.6", "", "[libc.so.6+0x80]", 5);
	add(p, "/usr/bin/php8.2", "", "zend_execute", 15);
	package_hints_find(p, *state, &h);
	assert_int_equal(h.n, 3);
	assert_string_equal(h.at[0].package, "php8.2-cli-dbgsym");
	assert_true(h.at[0].share == 0.5);
	assert_string_equal(h.at[1].package, "libz1-dbgsym");
	assert_string_equal(h.at[2].package, "libc6-dbg");
}

static void files_of_one_package_are_added(void **state)
{
	_cleanup_(profile_freep) struct profile *p = empty();
	struct package_hints h;

	write_list(state, "a1.list", "/opt/a\n");
	write_list(state, "b1.list", "/opt/b\n/opt/c\n");
	add(p, "/opt/a", "", "[a+0x1]", 4);
	add(p, "/opt/b", "", "[b+0x1]", 3);
	add(p, "/opt/c", "", "[c+0x1]", 3);
	package_hints_find(p, *state, &h);
	assert_int_equal(h.n, 2);
	assert_string_equal(h.at[0].package, "b1-dbgsym");
	assert_true(h.at[0].share == 0.6);
}

static void another_build_of_a_file_has_no_hint(void **state)
{
	_cleanup_(profile_freep) struct profile *p = empty();
	struct package_hints h;

	write_list(state, "a1.list", "/proc/self/exe\n/no/such/file\n");
	add(p, "/proc/self/exe", "0123456789abcdef", "[exe+0x1]", 4);
	add(p, "/no/such/file", "0123456789abcdef", "[file+0x1]", 4);
	package_hints_find(p, *state, &h);
	assert_int_equal(h.n, 0);
}

static void a_file_without_a_build_id_has_no_hint(void **state)
{
	_cleanup_(profile_freep) struct profile *p = empty();
	struct package_hints h;
	char path[512];

	snprintf(path, sizeof(path), "%s/sbcl.list", (char *)*state);
	write_list(state, "sbcl.list", path);
	add(p, path, "", "[sbcl.core+0x1]", 4);
	package_hints_find(p, *state, &h);
	assert_int_equal(h.n, 0);
}

/* The rest of their files, such as a PLT, has no symbols. */
static void installed_packages_are_no_hint(void **state)
{
	_cleanup_(profile_freep) struct profile *p = empty();
	struct package_hints h;

	write_list(state, "a1:amd64.list", "/opt/a\n");
	write_list(state, "b1:amd64.list", "/opt/b\n");
	write_list(state, "a1-dbgsym:amd64.list", "/opt/a.debug\n");
	write_list(state, "b1-dbgsym:i386.list", "/opt/b.debug\n");
	add(p, "/opt/a", "", "[a+0x1]", 4);
	add(p, "/opt/b", "", "[b+0x1]", 4);
	package_hints_find(p, *state, &h);
	assert_int_equal(h.n, 1);
	assert_string_equal(h.at[0].package, "b1-dbgsym");
}

static void few_samples_without_symbols_are_not_worth_it(void **state)
{
	_cleanup_(profile_freep) struct profile *p = empty();
	struct package_hints h;

	write_list(state, "a1.list", "/opt/a\n");
	add(p, "/opt/a", "", "[a+0x1]", 4);
	add(p, "/opt/a", "", "main", 96);
	package_hints_find(p, *state, &h);
	assert_int_equal(h.n, 0);
	add(p, "/opt/a", "", "[a+0x1]", 2);
	package_hints_find(p, *state, &h);
	assert_int_equal(h.n, 1);
}

static void names_that_no_package_has_are_ignored(void **state)
{
	_cleanup_(profile_freep) struct profile *p = empty();
	struct package_hints h;
	char long_name[128];

	memset(long_name, 'a', sizeof(long_name));
	strcpy(long_name + 100, ".list");
	write_list(state, long_name, "/opt/a\n");
	write_list(state, "\033[2J.list", "/opt/a\n");
	write_list(state, "A1.list", "/opt/a\n");
	write_list(state, "a1.md5sums", "/opt/a\n");
	write_list(state, ".list", "/opt/a\n");
	write_list(state, "empty.list", "");
	add(p, "/opt/a", "", "[a+0x1]", 4);
	package_hints_find(p, *state, &h);
	assert_int_equal(h.n, 0);
	package_hints_find(p, "/no/such/directory", &h);
	assert_int_equal(h.n, 0);
}

#define IN_DIR(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)

TEST_GROUP(test_package_hints, IN_DIR(files_are_attributed_to_their_packages),
	   IN_DIR(files_of_one_package_are_added), IN_DIR(another_build_of_a_file_has_no_hint),
	   IN_DIR(a_file_without_a_build_id_has_no_hint), IN_DIR(installed_packages_are_no_hint),
	   IN_DIR(few_samples_without_symbols_are_not_worth_it),
	   IN_DIR(names_that_no_package_has_are_ignored))
