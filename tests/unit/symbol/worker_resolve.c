/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of files that have symbols, DWARF or neither are named by the expected source. */
#include "symbol/worker_resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "symbol/demangle.h"
#include "symbol/file.h"
#include "symbol/source.h"
#include "symbol/worker_files.h"
#include "tests/test.h"
#include "tests/unit/elf/fixture.h"

extern const char __executable_start;

enum { TEXT = 0x1000 };

static __attribute__((noinline)) uintptr_t searched_function(void)
{
	return (uintptr_t)({
		__label__ here;
	here:
		&&here;
	});
}

static uint64_t searched_addr(void)
{
	return (uintptr_t)searched_function - (uintptr_t)&__executable_start;
}

static int no_file(void *ctx, const struct protocol_need *need)
{
	return -ERANGE;
}

/* The responses of one lookup, in order. */
struct seen {
	size_t n;
	struct {
		uint32_t index, source, line;
		uint64_t start;
		size_t n_frames;
		char name[100], system_name[100];
	} at[4];
};

static void put(void *ctx, const struct protocol_response *r)
{
	struct seen *s = ctx;

	assert_true(s->n < 4);
	s->at[s->n].index = r->index;
	s->at[s->n].source = r->source;
	s->at[s->n].start = r->start;
	s->at[s->n].n_frames = r->n;
	if (r->n) {
		s->at[s->n].line = r->frames[r->n - 1].line;
		snprintf(s->at[s->n].name, 100, "%s", r->frames[r->n - 1].name);
		snprintf(s->at[s->n].system_name, 100, "%s", r->frames[r->n - 1].system_name);
	}
	s->n++;
}

/* Looks up @n addresses in the file @fd, which it closes. */
static void look_up(int fd, const uint64_t *vaddrs, size_t n, struct worker_resolve_opts opts,
		    struct seen *out)
{
	struct worker_files *files;
	struct demangle *demangle;
	struct worker_file *f;

	*out = (struct seen){ 0 };
	assert_int_equal(worker_files_new(&files, 64 << 20, no_file, NULL), 0);
	assert_int_equal(demangle_new(&demangle, DEMANGLE_FULL), 0);
	f = worker_files_get(files, 1);
	symbol_file_use(worker_file_own(f), fd, NULL);
	opts.files = files;
	opts.demangle = demangle;
	opts.put = put;
	opts.ctx = out;
	worker_resolve(&opts, f, vaddrs, n);
	worker_files_end(files, f, 0);
	worker_files_free(files);
	demangle_free(demangle);
	close(fd);
}

static int open_self(void)
{
	return open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
}

static void dwarf_adds_lines_to_symbols(void **state)
{
	const uint64_t vaddr = searched_addr();
	struct seen s;

	assert_true(searched_function());
	look_up(open_self(), &vaddr, 1, (struct worker_resolve_opts){ 0 }, &s);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.at[0].source, SYMBOLIZER_DWARF);
	assert_string_equal(s.at[0].name, "searched_function");
	assert_true(s.at[0].line > 0);
	look_up(open_self(), &vaddr, 1, (struct worker_resolve_opts){ .tables_only = true }, &s);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.at[0].source, SYMBOLIZER_SYMTAB);
	assert_string_equal(s.at[0].name, "searched_function");
	assert_int_equal(s.at[0].line, 0);
}

static void addresses_without_a_name_are_reported_on_request(void **state)
{
	const uint64_t vaddrs[] = { 1, searched_addr() };
	struct seen s;

	look_up(open_self(), vaddrs, 2, (struct worker_resolve_opts){ 0 }, &s);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.at[0].index, 1);
	look_up(open_self(), vaddrs, 2, (struct worker_resolve_opts){ .name_all = true }, &s);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.at[0].index, 1);
	assert_int_equal(s.at[1].index, 0);
	assert_int_equal(s.at[1].source, SYMBOLIZER_UNNAMED);
	assert_int_equal(s.at[1].n_frames, 0);
	assert_int_equal(s.at[1].start, 1);
}

/* Makes a file with one function, in .symtab. */
static int fd_with_symbol(const char *name)
{
	Elf64_Sym syms[2] = { { 0 },
			      { .st_name = 1,
				.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				.st_value = TEXT,
				.st_size = 4 } };
	struct buf strs = { 0 };
	struct fixture elf;
	uint32_t text, table;
	int fd;

	fixture_init(&elf);
	text = fixture_add(&elf, ".text", SHT_PROGBITS, "code", 4);
	elf.sh[text].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	elf.sh[text].sh_addr = TEXT;
	syms[1].st_shndx = (uint16_t)text;
	buf_put_byte(&strs, 0);
	buf_put(&strs, name, strlen(name) + 1);
	table = fixture_add(&elf, ".symtab", SHT_SYMTAB, syms, sizeof(syms));
	elf.sh[table].sh_entsize = sizeof(*syms);
	elf.sh[table].sh_link = fixture_add(&elf, ".strtab", SHT_STRTAB, strs.data, strs.len);
	fd = fixture_memfd(&elf);
	fixture_fini(&elf);
	buf_fini(&strs);
	return fd;
}

static void names_are_demangled(void **state)
{
	const uint64_t vaddr = TEXT + 1;
	struct seen s;

	look_up(fd_with_symbol("_Z5outerv"), &vaddr, 1, (struct worker_resolve_opts){ 0 }, &s);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.at[0].source, SYMBOLIZER_SYMTAB);
	assert_string_equal(s.at[0].name, "outer()");
	assert_string_equal(s.at[0].system_name, "_Z5outerv");
}

static void a_file_of_another_format_names_nothing(void **state)
{
	const uint64_t vaddr = TEXT;
	struct seen s;

	look_up(open("/etc/passwd", O_RDONLY | O_CLOEXEC), &vaddr, 1,
		(struct worker_resolve_opts){ .name_all = true }, &s);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.at[0].n_frames, 0);
	assert_int_equal(s.at[0].start, TEXT);
}

TEST_GROUP(test_worker_resolve, TEST(dwarf_adds_lines_to_symbols),
	   TEST(addresses_without_a_name_are_reported_on_request), TEST(names_are_demangled),
	   TEST(a_file_of_another_format_names_nothing))
