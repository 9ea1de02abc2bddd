/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/worker_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/test.h"
#include "tests/unit/elf/fixture.h"

extern const char __executable_start;

static __attribute__((noinline)) uintptr_t wanted_function(void)
{
	return (uintptr_t)({
		__label__ here;
	here:
		&&here;
	});
}

static uint64_t wanted_addr(void)
{
	return (uintptr_t)wanted_function - (uintptr_t)&__executable_start;
}

/* The files that requests of each kind open (NULL: none), and the number of requests. */
struct parent {
	const char *paths[PROTOCOL_NEED_MAX];
	int n[PROTOCOL_NEED_MAX];
	struct worker_files *files;
};

static int supply(void *ctx, const struct protocol_need *need)
{
	struct parent *p = ctx;

	p->n[need->kind]++;
	return p->paths[need->kind] ? open(p->paths[need->kind], O_RDONLY | O_CLOEXEC) : -ENOENT;
}

static void start(struct parent *p, size_t max_bytes)
{
	assert_int_equal(worker_files_new(&p->files, max_bytes, supply, p), 0);
}

/* Returns the number of frames at wanted_function() in file @key, and the outermost one. */
static int frames(struct parent *p, uint64_t key, struct protocol_frame *out)
{
	struct protocol_frame all[PROTOCOL_FRAMES_MAX];
	int n = worker_files_frames(p->files, key, wanted_addr(), all, PROTOCOL_FRAMES_MAX);

	if (n > 0)
		*out = all[n - 1];
	return n;
}

static void opens_a_file_once_for_its_key(void **state)
{
	struct parent p = { .paths = { [PROTOCOL_NEED_FILE] = "/proc/self/exe" } };
	struct protocol_frame f;

	assert_true(wanted_function());
	start(&p, 256 << 20);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(frames(&p, 1, &f), 1);
		assert_string_equal(f.name, "wanted_function");
		assert_non_null(strstr(f.file, "worker_files.c"));
		assert_true(f.line > 0 && f.start_line > 0 && f.lang > 0);
		worker_files_release_pages(p.files);
	}
	assert_int_equal(p.n[PROTOCOL_NEED_FILE], 1);
	assert_int_equal(p.n[PROTOCOL_NEED_DEBUG], 1);
	assert_int_equal(frames(&p, 2, &f), 1);
	assert_int_equal(p.n[PROTOCOL_NEED_FILE], 2);
	assert_int_equal(frames(&p, 1, &f), 1);
	assert_int_equal(p.n[PROTOCOL_NEED_FILE], 2);
	worker_files_free(p.files);
}

static void an_address_outside_the_code_has_no_frames(void **state)
{
	struct parent p = { .paths = { [PROTOCOL_NEED_FILE] = "/proc/self/exe" } };
	struct protocol_frame out[1];

	start(&p, 256 << 20);
	assert_int_equal(worker_files_frames(p.files, 1, 0, out, 1), 0);
	assert_int_equal(worker_files_frames(p.files, 1, UINT64_MAX, out, 1), 0);
	worker_files_free(p.files);
}

static void a_missing_file_is_not_requested_again(void **state)
{
	struct parent p = { 0 };
	struct protocol_frame f;

	start(&p, 256 << 20);
	for (int i = 0; i < 3; i++)
		assert_int_equal(frames(&p, 1, &f), 0);
	assert_int_equal(p.n[PROTOCOL_NEED_FILE], 1);
	assert_int_equal(p.n[PROTOCOL_NEED_DEBUG], 1);
	worker_files_release_pages(p.files);
	worker_files_free(p.files);
}

static void takes_what_the_file_lacks_from_its_debug_file(void **state)
{
	static const char *const without[] = { "/etc/passwd", NULL };

	for (size_t i = 0; i < 2; i++) {
		struct parent p = { .paths = { [PROTOCOL_NEED_FILE] = without[i],
					       [PROTOCOL_NEED_DEBUG] = "/proc/self/exe" } };
		struct protocol_frame f;

		start(&p, 256 << 20);
		assert_int_equal(frames(&p, 1, &f), 1);
		assert_string_equal(f.name, "wanted_function");
		assert_true(f.line > 0);
		worker_files_free(p.files);
	}
}

/* The code of these files has a symbol, but neither DWARF nor lines. */
static void a_symbol_covers_a_function_without_dwarf(void **state)
{
	Elf64_Sym syms[2] = { { 0 },
			      { .st_name = 1,
				.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				.st_value = wanted_addr() } };
	struct parent p = { 0 };
	struct protocol_frame f;
	struct fixture elf;
	uint32_t text, table;
	char path[32];
	int fd;

	fixture_init(&elf);
	text = fixture_add(&elf, ".text", SHT_PROGBITS, "code", 4);
	elf.sh[text].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	elf.sh[text].sh_addr = wanted_addr();
	syms[1].st_shndx = (uint16_t)text;
	table = fixture_add(&elf, ".symtab", SHT_SYMTAB, syms, sizeof(syms));
	elf.sh[table].sh_entsize = sizeof(*syms);
	elf.sh[table].sh_link = fixture_add(&elf, ".strtab", SHT_STRTAB, "\0_Zsymbol", 10);
	fd = fixture_memfd(&elf);
	fixture_fini(&elf);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	p.paths[PROTOCOL_NEED_DEBUG] = path;
	start(&p, 256 << 20);
	assert_int_equal(frames(&p, 1, &f), 1);
	assert_string_equal(f.name, "");
	assert_string_equal(f.linkage, "_Zsymbol");
	assert_string_equal(f.file, "");
	assert_int_equal(f.line, 0);
	worker_files_free(p.files);
	close(fd);
}

static void over_the_budget_the_least_recently_used_file_is_closed(void **state)
{
	struct parent p = { .paths = { [PROTOCOL_NEED_FILE] = "/proc/self/exe" } };
	struct protocol_frame f;

	start(&p, 1);
	assert_int_equal(frames(&p, 1, &f), 1);
	assert_int_equal(frames(&p, 2, &f), 1);
	assert_int_equal(p.n[PROTOCOL_NEED_FILE], 2);
	assert_int_equal(frames(&p, 2, &f), 1);
	assert_int_equal(p.n[PROTOCOL_NEED_FILE], 2);
	assert_int_equal(frames(&p, 1, &f), 1);
	assert_int_equal(p.n[PROTOCOL_NEED_FILE], 3);
	worker_files_free(p.files);
}

static void a_file_larger_than_the_budget_still_has_frames(void **state)
{
	struct parent p = { .paths = { [PROTOCOL_NEED_FILE] = "/proc/self/exe" } };
	struct protocol_frame f;

	start(&p, 1);
	for (int i = 0; i < 600; i++) {
		assert_int_equal(frames(&p, 1, &f), 1);
		assert_string_equal(f.name, "wanted_function");
	}
	assert_int_equal(p.n[PROTOCOL_NEED_FILE], 1);
	worker_files_free(p.files);
}

static void the_number_of_open_files_is_limited(void **state)
{
	enum { MANY = 3000, RECENT = 100 };
	struct parent p = { 0 };
	struct protocol_frame f;

	start(&p, 256 << 20);
	for (uint64_t key = 1; key <= MANY; key++)
		assert_int_equal(frames(&p, key, &f), 0);
	assert_int_equal(p.n[PROTOCOL_NEED_FILE], MANY);
	for (uint64_t key = MANY; key > MANY - RECENT; key--)
		assert_int_equal(frames(&p, key, &f), 0);
	assert_int_equal(p.n[PROTOCOL_NEED_FILE], MANY);
	for (uint64_t key = 1; key <= RECENT; key++)
		assert_int_equal(frames(&p, key, &f), 0);
	assert_int_equal(p.n[PROTOCOL_NEED_FILE], MANY + RECENT);
	worker_files_free(p.files);
}

TEST_GROUP(test_worker_files, TEST(opens_a_file_once_for_its_key),
	   TEST(an_address_outside_the_code_has_no_frames),
	   TEST(a_missing_file_is_not_requested_again),
	   TEST(takes_what_the_file_lacks_from_its_debug_file),
	   TEST(a_symbol_covers_a_function_without_dwarf),
	   TEST(over_the_budget_the_least_recently_used_file_is_closed),
	   TEST(a_file_larger_than_the_budget_still_has_frames),
	   TEST(the_number_of_open_files_is_limited))
