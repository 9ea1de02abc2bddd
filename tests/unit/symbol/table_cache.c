/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/table_cache.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/symtab.h"
#include "symbol/symbol_cache.h"
#include "tests/test.h"
#include "tests/unit/elf/fixture.h"
#include "tests/unit/symbol/tempdir.h"

enum { TEXT = 0x1000, FUNC_LEN = 16, MANY = 4000 };

/*
 * Makes a program with functions NAME_0, NAME_1... Names of equal length result in equal headers.
 */
static const struct elf_image *program(struct fixture *f, const char *name, int n)
{
	struct buf entries = { 0 }, strs = { 0 };
	const Elf64_Sym null = { 0 };
	uint32_t text, str, table;

	fixture_init(f);
	text = fixture_add(f, ".text", SHT_NOBITS, "", 0);
	f->sh[text].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	f->sh[text].sh_addr = TEXT;
	f->sh[text].sh_size = (uint64_t)n * FUNC_LEN;
	buf_put(&entries, &null, sizeof(null));
	buf_put_byte(&strs, '\0');
	for (int i = 0; i < n; i++) {
		const Elf64_Sym sym = { (uint32_t)strs.len,
					ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
					0,
					1,
					TEXT + (uint64_t)i * FUNC_LEN,
					FUNC_LEN };

		buf_put(&entries, &sym, sizeof(sym));
		buf_printf(&strs, "%s_%d", name, i);
		buf_put_byte(&strs, '\0');
	}
	str = fixture_add(f, ".str", SHT_STRTAB, strs.data, strs.len);
	table = fixture_add(f, ".sym", SHT_SYMTAB, entries.data, entries.len);
	f->sh[table].sh_link = str;
	f->sh[table].sh_entsize = sizeof(Elf64_Sym);
	buf_fini(&entries);
	buf_fini(&strs);
	return fixture_open(f);
}

static int get_table(void *ctx, const char *name)
{
	return symbol_cache_get(ctx, name);
}

static void put_table(void *ctx, const char *name, int fd)
{
	assert_int_equal(symbol_cache_put(ctx, name, fd), 0);
	close(fd);
}

/* Checks the symbol in the middle of a program's table, loaded through the cache in @dir. */
static void check_name(const char *dir, const char *name, int n, const char *want)
{
	struct table_cache tables = { .get = get_table, .put = put_table };
	struct symbol_cache *c;
	struct elf_symtab *t;
	struct elf_symbol sym;
	struct fixture f;

	program(&f, name, n);
	assert_int_equal(symbol_cache_open(&c, dir, 0, NULL), 0);
	tables.key = *symbol_cache_key(c);
	tables.ctx = c;
	assert_int_equal(table_cache_load(&tables, f.img, ELF_SYMTAB, &t), 0);
	assert_int_equal(elf_symtab_count(t), n);
	assert_int_equal(elf_symtab_find(t, TEXT + 100 * FUNC_LEN + 3, &sym), 0);
	assert_int_equal(sym.vaddr, TEXT + 100 * FUNC_LEN);
	assert_string_equal(sym.name, want);
	elf_symtab_free(t);
	symbol_cache_free(c);
	fixture_fini(&f);
}

/* Returns the number of cached tables and the path of one of them. */
static int count(const char *dir, char path[PATH_MAX])
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int n = 0;

	assert_non_null(d);
	while ((e = readdir(d))) {
		if (!strstr(e->d_name, ".symbols"))
			continue;
		snprintf(path, PATH_MAX, "%s/%s", dir, e->d_name);
		n++;
	}
	closedir(d);
	return n;
}

static void reads_a_stored_table(void **state)
{
	char one[PATH_MAX], two[PATH_MAX], other[PATH_MAX];

	check_name(*state, "one", MANY, "one_100");
	assert_int_equal(count(*state, one), 1);
	check_name(*state, "one", MANY, "one_100");
	assert_int_equal(count(*state, one), 1);
	/* The table is read: two's table under one's file name results in two's symbols. */
	snprintf(other, sizeof(other), "%s/away", (char *)*state);
	assert_int_equal(rename(one, other), 0);
	check_name(*state, "two", MANY, "two_100");
	assert_int_equal(count(*state, two), 1);
	assert_int_equal(rename(two, one), 0);
	check_name(*state, "one", MANY, "two_100");
}

static void programs_with_equal_headers_have_separate_tables(void **state)
{
	char path[PATH_MAX];

	check_name(*state, "one", MANY, "one_100");
	check_name(*state, "two", MANY, "two_100");
	check_name(*state, "one", MANY, "one_100");
	check_name(*state, "two", MANY, "two_100");
	assert_int_equal(count(*state, path), 2);
}

static void does_not_store_a_small_table(void **state)
{
	char path[PATH_MAX];

	check_name(*state, "one", 200, "one_100");
	assert_int_equal(count(*state, path), 0);
}

static int run(const char *command, const char *a, const char *b)
{
	char line[3 * PATH_MAX];

	snprintf(line, sizeof(line), "%s '%s' '%s'", command, a, b);
	return system(line);
}

static void flip(const char *path, off_t at)
{
	int fd = open(path, O_RDWR);
	uint8_t byte;

	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 0x10;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

static void rebuilds_a_damaged_table(void **state)
{
	char path[PATH_MAX], good[PATH_MAX];
	struct stat st;

	check_name(*state, "one", MANY, "one_100");
	assert_int_equal(count(*state, path), 1);
	snprintf(good, sizeof(good), "%s/good", (char *)*state);
	assert_int_equal(run("cp", path, good), 0);
	assert_int_equal(stat(path, &st), 0);
	for (off_t at = 0; at < st.st_size; at += at < 64 ? 1 : st.st_size / 64) {
		flip(path, at);
		check_name(*state, "one", MANY, "one_100");
		assert_int_equal(count(*state, path), 1);
		assert_int_equal(run("cmp", path, good), 0); /* The damaged file was replaced. */
	}
	for (off_t len = 0; len < st.st_size; len += st.st_size / 8) {
		assert_int_equal(truncate(path, len), 0);
		check_name(*state, "one", MANY, "one_100");
		check_name(*state, "one", MANY, "one_100");
		assert_int_equal(count(*state, path), 1);
	}
}

static void replaces_a_truncated_key(void **state)
{
	char key[PATH_MAX];
	struct stat st;

	check_name(*state, "one", MANY, "one_100");
	snprintf(key, sizeof(key), "%s/key", (char *)*state);
	assert_int_equal(truncate(key, 3), 0);
	check_name(*state, "one", MANY, "one_100");
	assert_int_equal(stat(key, &st), 0);
	assert_int_equal(st.st_size, 16);
}

/* The symbolizer may be under an attacker's control. */
static void nothing_but_tables_can_be_read_or_stored(void **state)
{
	static const char *const names[] = {
		"key",
		"../key",
		"",
		"0123456789abcdef0123456789abcdef",
		"0123456789abcdef0123456789abcdef.symbols/x",
		"0123456789abcdeF0123456789abcdef.symbols",
	};
	struct symbol_cache *c;
	char path[PATH_MAX];
	int fd = memfd_create("unsealed", MFD_CLOEXEC);

	assert_int_equal(symbol_cache_open(&c, *state, 0, NULL), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_int_equal(symbol_cache_get(c, names[i]), -EINVAL);
		assert_int_equal(symbol_cache_put(c, names[i], fd), -EINVAL);
	}
	assert_int_equal(symbol_cache_put(c, "0123456789abcdef0123456789abcdef.symbols", fd),
			 -EBADMSG);
	assert_int_equal(count(*state, path), 0);
	close(fd);
	symbol_cache_free(c);
}

static void builds_tables_without_a_cache(void **state)
{
	struct elf_symtab *t;
	struct fixture f;

	program(&f, "one", MANY);
	assert_int_equal(table_cache_load(NULL, f.img, ELF_SYMTAB, &t), 0);
	assert_int_equal(elf_symtab_count(t), MANY);
	elf_symtab_free(t);
	fixture_fini(&f);
}

#define TEST_IN_DIR(fn) cmocka_unit_test_setup_teardown(fn, tempdir_make, tempdir_remove)

TEST_GROUP(test_table_cache, TEST_IN_DIR(reads_a_stored_table),
	   TEST_IN_DIR(programs_with_equal_headers_have_separate_tables),
	   TEST_IN_DIR(does_not_store_a_small_table), TEST_IN_DIR(rebuilds_a_damaged_table),
	   TEST_IN_DIR(replaces_a_truncated_key),
	   TEST_IN_DIR(nothing_but_tables_can_be_read_or_stored),
	   TEST(builds_tables_without_a_cache))
