/* SPDX-License-Identifier: Apache-2.0 */
/* `cameo symbols`, on functions of this program whose names and lines are known. */
#include <link.h>
#include <stdio.h>

#include "tests/unit/cli/command.h"

__attribute__((noinline, used, visibility("default"))) int symbols_known(int n);

enum { FIRST_LINE = __LINE__ };

int symbols_known(int n)
{
	return n + 1;
}

enum { LAST_LINE = __LINE__ };

static int first_base(struct dl_phdr_info *info, size_t size, void *ctx)
{
	*(uintptr_t *)ctx = info->dlpi_addr;
	return 1;
}

/* The address of the function in the file, as the linker knows it. */
static const char *known_address(char text[32])
{
	uintptr_t base = 0;

	dl_iterate_phdr(first_base, &base);
	snprintf(text, 32, "0x%016lx", (unsigned long)((uintptr_t)symbols_known - base));
	return text;
}

static void a_function_has_its_name_and_line(void **state)
{
	const struct command_result *r;
	const char *file;
	long line;
	char address[32], expected[128];

	r = RUN("symbols", "/proc/self/exe", known_address(address));
	assert_int_equal(r->status, 0);
	snprintf(expected, sizeof(expected), "%s\nsymbols_known\n", address);
	assert_memory_equal(r->out, expected, strlen(expected));
	file = strstr(r->out, "/tests/unit/cli/symbols.c:");
	assert_non_null(file);
	line = strtol(strchr(file, ':') + 1, NULL, 10);
	assert_true(line >= FIRST_LINE && line <= LAST_LINE);
}

static void symbol_tables_have_no_lines(void **state)
{
	const struct command_result *r;
	char address[32], expected[128];

	snprintf(expected, sizeof(expected), "%s\nsymbols_known\n??:0\n", known_address(address));
	r = RUN("symbols", "--no-dwarf", "--stats", "/proc/self/exe", address);
	assert_int_equal(r->status, 0);
	assert_string_equal(r->out, expected);
	assert_non_null(strstr(r->err, "symbolizer: "));
	assert_non_null(strstr(r->err, "1 address, "));
}

static void addresses_come_from_standard_input_too(void **state)
{
	const struct command_result *r;
	char address[32], input[128], expected[256];

	known_address(address);
	/* Without 0x and in upper case; a file has nothing at address 0. */
	snprintf(input, sizeof(input), "%s\n\n0\r\n%s", address + 2, address);
	snprintf(expected, sizeof(expected),
		 "%s\nsymbols_known\n??:0\n0x%016d\n??\n??:0\n%s\nsymbols_known\n??:0\n", address,
		 0, address);
	r = RUN_WITH(input, "symbols", "--no-dwarf", "/proc/self/exe");
	assert_int_equal(r->status, 0);
	assert_string_equal(r->out, expected);
}

static void more_addresses_than_a_batch_are_all_answered(void **state)
{
	enum { N = 10000, LEN = 17 };
	static char input[N * LEN + 1];
	const struct command_result *r;
	char *p = input;
	size_t lines = 0;

	for (unsigned int i = 0; i < N; i++)
		p += sprintf(p, "%x\n", 0xffffffu + i);
	r = RUN_WITH(input, "symbols", "--no-dwarf", "/proc/self/exe");
	assert_int_equal(r->status, 0);
	for (const char *at = r->out; (at = strchr(at, '\n')); at++)
		lines++;
	assert_int_equal(lines, 3 * N);
	assert_non_null(strstr(r->out, "0x000000000100270e\n"));
}

static void wrong_command_lines_are_refused(void **state)
{
	static const struct command_bad bad[] = {
		{ { "symbols" }, "expected an ELF file" },
		{ { "symbols", "/proc/self/exe", "main" }, "address \"main\"" },
		{ { "symbols", "/proc/self/exe", "0x10", "0x" }, "address \"0x\"" },
		{ { "symbols", "/proc/self/exe", "" }, "address \"\"" },
		{ { "symbols", "/proc/self/exe", "10 20" }, "address \"10 20\"" },
		{ { "symbols", "/proc/self/exe", "--", "-1" }, "address \"-1\"" },
		{ { "symbols", "/proc/self/exe", "10000000000000000" }, "at most 16" },
		{ { "symbols", "/proc/self/exe", "--demangle", "yes" }, "--demangle" },
		{ { "symbols", "/proc/self/exe", "--offsets=1" }, "--offsets" },
		{ { "symbols", "/proc/self/exe", "--symbol-cache" }, "--symbol-cache" },
		{ { NULL }, NULL },
	};

	command_refuses(bad);
	command_failed(RUN_WITH("10\nfoo\n", "symbols", "/proc/self/exe"), "symbols", 2,
		       "address \"foo\"");
}

static void files_that_are_no_elf_are_named(void **state)
{
	static const char elf_magic[] = "\177ELF\2\1\1";

	file_write("text", "This is not an executable.\n");
	file_write("empty", "");
	file_write("head", elf_magic);
	command_failed(RUN("symbols", "missing", "0"), "symbols", 1, "\"missing\": No such file");
	command_failed(RUN("symbols", "text", "0"), "symbols", 1, "\"text\": ");
	command_failed(RUN("symbols", "empty", "0"), "symbols", 1, "\"empty\": ");
	command_failed(RUN("symbols", "head", "0"), "symbols", 1, "\"head\": ");
	command_failed(RUN("symbols", ".", "0"), "symbols", 1, "\".\": ");
	command_failed(RUN("symbols", "--symbol-cache", "text", "/proc/self/exe", "0"), "symbols",
		       1, "text");
	assert_int_equal(file_count(), 3);
}

TEST_GROUP(test_symbols, COMMAND_TEST(a_function_has_its_name_and_line),
	   COMMAND_TEST(symbol_tables_have_no_lines),
	   COMMAND_TEST(addresses_come_from_standard_input_too),
	   COMMAND_TEST(more_addresses_than_a_batch_are_all_answered),
	   COMMAND_TEST(wrong_command_lines_are_refused),
	   COMMAND_TEST(files_that_are_no_elf_are_named))
