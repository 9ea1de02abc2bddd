/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/gopclntab.h"
#include "elf/symtab_scan.h"
#include "symbol/facts.h"
#include "symbol/protocol.h"
#include "tests/test.h"
#include "tests/unit/elf/fixture.h"

extern const char __executable_start;

static __attribute__((noinline)) uintptr_t first_function(void)
{
	return (uintptr_t)({
		__label__ here;
	here:
		&&here;
	});
}

static __attribute__((noinline)) uintptr_t second_function(void)
{
	return first_function() + 1;
}

static uint64_t vaddr_of(uintptr_t (*fn)(void))
{
	return (uintptr_t)fn - (uintptr_t)&__executable_start;
}

static struct symbol_file *open_fd(int fd)
{
	struct symbol_file *f;

	assert_true(fd >= 0);
	assert_int_equal(symbol_file_new(&f), 0);
	symbol_file_use(f, fd, NULL);
	return f;
}

static struct symbol_file *open_path(const char *path)
{
	return open_fd(open(path, O_RDONLY | O_CLOEXEC));
}

/* Ends the use for which a descriptor was opened, and frees the file. */
static void close_file(struct symbol_file *f)
{
	int fd = symbol_file_fd(f);

	symbol_file_idle(f);
	symbol_file_free(f);
	close(fd);
}

/* Takes the file that @elf describes. */
static struct symbol_file *open_fixture(struct fixture *elf)
{
	struct symbol_file *f = open_fd(fixture_memfd(elf));

	fixture_fini(elf);
	return f;
}

/* Looks up this program's functions @n times in one call. */
static void check_names(struct symbol_file *f, size_t n)
{
	uint64_t *vaddrs = calloc(n, sizeof(*vaddrs));
	const char **names = calloc(n, sizeof(*names));

	assert_true(vaddrs && names && n >= 4);
	for (size_t i = 0; i < n; i++)
		vaddrs[i] = vaddr_of(i % 2 ? first_function : second_function);
	vaddrs[n - 1] = UINT64_MAX; /* not requested */
	vaddrs[n - 2] = 1;          /* in no function */
	symbol_file_find_names(f, SYMBOL_TABLE_SYMTAB, vaddrs, n, names);
	for (size_t i = 0; i < n - 2; i++)
		assert_string_equal(names[i], i % 2 ? "first_function" : "second_function");
	assert_null(names[n - 1]);
	assert_null(names[n - 2]);
	free(vaddrs);
	free(names);
}

static void a_scan_and_the_sorted_table_find_the_same_names(void **state)
{
	struct symbol_file *f = open_path("/proc/self/exe");
	size_t empty = symbol_file_bytes(f), sorted;

	assert_true(second_function());
	check_names(f, 8);
	assert_int_equal(symbol_file_bytes(f), empty);
	check_names(f, 4 * ELF_SCAN_MAX);
	sorted = symbol_file_bytes(f);
	assert_true(sorted > empty);
	check_names(f, 8);
	symbol_file_trim(f);
	assert_int_equal(symbol_file_bytes(f), empty);
	check_names(f, 8);
	close_file(f);
}

/* The dynamic linker finds symbols of .dynsym as well. A sanitizer may replace some of these. */
static void names_of_a_library_are_those_of_the_dynamic_linker(void **state)
{
	void *const fns[] = { (void *)(uintptr_t)getenv, (void *)(uintptr_t)insque,
			      (void *)(uintptr_t)remque, (void *)(uintptr_t)l64a,
			      (void *)(uintptr_t)a64l,   (void *)(uintptr_t)gnu_get_libc_release };
	enum { MAX = sizeof(fns) / sizeof(*fns) };
	uint64_t vaddrs[MAX];
	const char *names[MAX];
	struct symbol_file *f;
	Dl_info libc, info[MAX];
	size_t n = 0;

	assert_true(dladdr((void *)(uintptr_t)gnu_get_libc_version, &libc));
	for (size_t i = 0; i < MAX; i++) {
		assert_true(dladdr(fns[i], &info[n]) && info[n].dli_sname);
		vaddrs[n] = (uintptr_t)info[n].dli_saddr - (uintptr_t)info[n].dli_fbase + 1;
		n += !strcmp(info[n].dli_fname, libc.dli_fname);
	}
	assert_true(n >= 3);
	f = open_path(libc.dli_fname);
	symbol_file_find_names(f, SYMBOL_TABLE_DYNSYM, vaddrs, n, names);
	for (size_t i = 0; i < n; i++) {
		assert_non_null(names[i]);
		assert_string_equal(names[i], info[i].dli_sname);
	}
	close_file(f);
}

/* Returns the offset in this program's file that is mapped at @addr, from the kernel's list. */
static uint64_t file_offset_of(uintptr_t addr)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long lo, hi, off;
	uint64_t found = UINT64_MAX;
	char line[PATH_MAX + 100];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx", &lo, &hi, &off) == 3 && addr >= lo && addr < hi)
			found = addr - lo + off;
	fclose(maps);
	return found;
}

static void converts_file_offsets_as_the_kernel_mapped_them(void **state)
{
	struct symbol_file *f = open_path("/proc/self/exe");
	struct protocol_facts read;
	struct symbol_facts *facts;
	uint64_t vaddr;

	symbol_file_facts(f, &read);
	assert_ptr_equal(protocol_check_facts(&read, sizeof(read)), &read);
	facts = symbol_facts_new(&read);
	assert_int_equal(
		symbol_facts_vaddr(facts, file_offset_of((uintptr_t)first_function), &vaddr), 0);
	assert_int_equal(vaddr, vaddr_of(first_function));
	assert_int_equal(symbol_facts_vaddr(facts, UINT64_MAX, &vaddr), -ENOENT);
	assert_int_equal(symbol_facts_vaddr(facts, 1ULL << 40, &vaddr), -ENOENT);
	free(facts);
	close_file(f);
}

static void finds_where_functions_without_a_symbol_begin(void **state)
{
	struct symbol_file *f = open_path("/proc/self/exe");
	const uint64_t known = vaddr_of(first_function);
	uint64_t start;

	for (int i = 0; i < 2; i++) {
		assert_null(symbol_file_function(f, known + 2, &start));
		assert_int_equal(start, known);
		assert_null(symbol_file_function(f, 1, &start));
		assert_int_equal(start, 1);
		assert_true(symbol_file_mapped(f) > 0);
		symbol_file_trim(f);
		assert_int_equal(symbol_file_mapped(f), 0);
		assert_int_equal(symbol_file_bytes(f), 0);
	}
	close_file(f);
}

static void a_file_is_mapped_while_it_is_used(void **state)
{
	struct symbol_file *f = open_path("/proc/self/exe");
	int fd = symbol_file_fd(f);

	check_names(f, 8);
	assert_true(symbol_file_mapped(f) > 0);
	symbol_file_idle(f);
	assert_int_equal(symbol_file_mapped(f), 0);
	assert_int_equal(symbol_file_fd(f), -1);
	symbol_file_use(f, fd, NULL);
	check_names(f, 8);
	close_file(f);
}

static void check_has_nothing(struct symbol_file *f)
{
	struct gopclntab_frame frames[4];
	uint64_t vaddrs[] = { 0, 0x1000, 0x401000 }, start;
	struct protocol_facts facts;
	const char *names[3];
	uint32_t crc;

	for (int t = 0; t < SYMBOL_TABLE_MAX; t++) {
		symbol_file_find_names(f, (enum symbol_table)t, vaddrs, 3, names);
		assert_true(!names[0] && !names[1] && !names[2]);
	}
	assert_int_equal(symbol_file_build_id(f)->len, 0);
	assert_null(symbol_file_debuglink(f, &crc));
	assert_false(symbol_file_has_dwarf(f));
	assert_false(symbol_file_has_minidebug(f));
	assert_int_equal(symbol_file_scheme(f), DEMANGLE_BY_PREFIX);
	symbol_file_facts(f, &facts);
	assert_int_equal(facts.is_elf, 0);
	assert_int_equal(facts.n_segments, 0);
	assert_null(symbol_file_function(f, 0x1000, &start));
	assert_int_equal(start, 0x1000);
	assert_int_equal(symbol_file_go_frames(f, 0x1000, frames, 4), -ENOENT);
	close_file(f);
}

static void files_in_other_formats_have_nothing(void **state)
{
	check_has_nothing(open_fd(memfd_create("empty", MFD_CLOEXEC)));
	check_has_nothing(open_path("/etc/passwd"));
	check_has_nothing(open_path("/"));
}

static void a_file_may_shrink_after_it_was_opened(void **state)
{
	uint64_t vaddrs[] = { 0x1000 };
	const char *names[1];
	struct fixture elf;
	struct symbol_file *f;

	fixture_init(&elf);
	fixture_add(&elf, ".debug_info", SHT_PROGBITS, "x", 1);
	f = open_fixture(&elf);
	assert_int_equal(ftruncate(symbol_file_fd(f), 100), 0);
	symbol_file_find_names(f, SYMBOL_TABLE_SYMTAB, vaddrs, 1, names);
	assert_null(names[0]);
	assert_int_equal(symbol_file_scheme(f), DEMANGLE_BY_PREFIX);
	assert_true(symbol_file_has_dwarf(f)); /* This was read before. */
	close_file(f);
}

static void reports_which_debug_information_a_file_has(void **state)
{
	static const struct {
		const char *section;
		bool dwarf, minidebug;
	} cases[] = {
		{ ".debug_info", true, false },    { ".zdebug_info", true, false },
		{ ".gnu_debugdata", false, true }, { ".debug_line", false, false },
		{ ".text", false, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct symbol_file *f;
		struct fixture elf;

		fixture_init(&elf);
		fixture_add(&elf, cases[i].section, SHT_PROGBITS, "x", 1);
		f = open_fixture(&elf);
		assert_int_equal(symbol_file_has_dwarf(f), cases[i].dwarf);
		assert_int_equal(symbol_file_has_minidebug(f), cases[i].minidebug);
		close_file(f);
	}
}

static void reads_build_id_and_debuglink(void **state)
{
	struct symbol_file *f;
	struct fixture elf;
	uint32_t crc;

	fixture_init(&elf);
	fixture_add_build_id(&elf, "0123456789abcdefghij", 20);
	fixture_add(&elf, ".gnu_debuglink", SHT_PROGBITS, "prog.debug\0\0\x78\x56\x34\x12", 16);
	f = open_fixture(&elf);
	assert_int_equal(symbol_file_build_id(f)->len, 20);
	assert_memory_equal(symbol_file_build_id(f)->bytes, "0123456789abcdefghij", 20);
	assert_string_equal(symbol_file_debuglink(f, &crc), "prog.debug");
	assert_int_equal(crc, 0x12345678);
	close_file(f);
}

/* Makes a file whose symbol table has @n functions with the names @names. */
static struct symbol_file *file_with_symbols(const char *const *names, size_t n)
{
	Elf64_Sym syms[4] = { 0 };
	struct buf strs = { 0 };
	struct symbol_file *f;
	struct fixture elf;
	uint32_t text, table;

	fixture_init(&elf);
	text = fixture_add(&elf, ".text", SHT_PROGBITS, "code", 4);
	elf.sh[text].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	elf.sh[text].sh_addr = 0x1000;
	buf_put_byte(&strs, 0);
	assert_true(n < 4);
	for (size_t i = 0; i < n; i++) {
		syms[i + 1] = (Elf64_Sym){ .st_name = (uint32_t)strs.len,
					   .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
					   .st_shndx = (uint16_t)text,
					   .st_value = 0x1000 + i };
		buf_put(&strs, names[i], strlen(names[i]) + 1);
	}
	table = fixture_add(&elf, ".symtab", SHT_SYMTAB, syms, (n + 1) * sizeof(*syms));
	elf.sh[table].sh_entsize = sizeof(*syms);
	elf.sh[table].sh_link = fixture_add(&elf, ".strtab", SHT_STRTAB, strs.data, strs.len);
	buf_fini(&strs);
	f = open_fixture(&elf);
	return f;
}

static void check_scheme(const char *const *names, size_t n, enum demangle_scheme want)
{
	struct symbol_file *f = file_with_symbols(names, n);

	assert_int_equal(symbol_file_scheme(f), want);
	assert_int_equal(symbol_file_scheme(f), want);
	close_file(f);
}

static void an_ada_program_has_both_functions_of_its_binder(void **state)
{
	check_scheme((const char *const[]){ "adainit", "adafinal" }, 2, DEMANGLE_ADA);
	check_scheme((const char *const[]){ "main", "adafinal", "adainit" }, 3, DEMANGLE_ADA);
	check_scheme((const char *const[]){ "adainit", "main" }, 2, DEMANGLE_BY_PREFIX);
	check_scheme((const char *const[]){ "my_adainit", "my_adafinal" }, 2, DEMANGLE_BY_PREFIX);
	check_scheme(NULL, 0, DEMANGLE_BY_PREFIX);
}

static void a_haskell_program_uses_its_runtime(void **state)
{
	check_scheme((const char *const[]){ "Main_main_info", "stg_upd_frame_info" }, 2,
		     DEMANGLE_HASKELL);
	check_scheme((const char *const[]){ "Main_main_info", "stg_upd_frame_infos" }, 2,
		     DEMANGLE_BY_PREFIX);
}

TEST_GROUP(test_file, TEST(a_scan_and_the_sorted_table_find_the_same_names),
	   TEST(names_of_a_library_are_those_of_the_dynamic_linker),
	   TEST(converts_file_offsets_as_the_kernel_mapped_them),
	   TEST(finds_where_functions_without_a_symbol_begin),
	   TEST(a_file_is_mapped_while_it_is_used), TEST(files_in_other_formats_have_nothing),
	   TEST(a_file_may_shrink_after_it_was_opened),
	   TEST(reports_which_debug_information_a_file_has), TEST(reads_build_id_and_debuglink),
	   TEST(an_ada_program_has_both_functions_of_its_binder),
	   TEST(a_haskell_program_uses_its_runtime))
