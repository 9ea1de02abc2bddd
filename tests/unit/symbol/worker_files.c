/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/worker_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "dwarf/dwarf.h"
#include "elf/note.h"
#include "elf/symtab.h"
#include "elf/symtab_scan.h"
#include "symbol/file.h"
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
	const char *own, *debug;
	int n_debug;
	struct worker_files *files;
	size_t table_bytes;
};

static int supply(void *ctx, const struct protocol_need *need)
{
	struct parent *p = ctx;

	if (need->kind != PROTOCOL_NEED_DEBUG || need->attempt)
		return -ERANGE;
	p->n_debug++;
	return p->debug ? open(p->debug, O_RDONLY | O_CLOEXEC) : -ENOENT;
}

static void start(struct parent *p, size_t max_bytes)
{
	p->table_bytes = 64 << 20;
	assert_int_equal(worker_files_new(&p->files, max_bytes, supply, p), 0);
}

/*
 * Returns the number of frames at wanted_function() in file @key, the outermost one in @out, and
 * the symbol of the debug file.
 */
static int frames(struct parent *p, uint64_t key, struct dwarf_frame *out, const char **symbol)
{
	struct worker_file *f = worker_files_get(p->files, key);
	struct dwarf_frame all[DWARF_FRAMES_MAX];
	int fd = open(p->own, O_RDONLY | O_CLOEXEC), n;
	struct elf_symbol sym;

	assert_non_null(f);
	assert_true(fd >= 0);
	symbol_file_use(worker_file_own(f), fd, NULL);
	(void)worker_file_open_debug(p->files, f, 0);
	n = worker_file_dwarf_frames(f, wanted_addr(), all, DWARF_FRAMES_MAX);
	if (n > 0)
		*out = all[n - 1];
	*symbol = worker_file_debug_symbol(f, wanted_addr(), &sym) ? sym.name : "";
	worker_files_end(p->files, f, p->table_bytes);
	close(fd);
	return n;
}

static void opens_debug_information_once_for_its_key(void **state)
{
	struct parent p = { .own = "/proc/self/exe" };
	struct dwarf_frame f;
	const char *symbol;

	assert_true(wanted_function());
	start(&p, 256 << 20);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(frames(&p, 1, &f, &symbol), 1);
		assert_string_equal(f.name, "wanted_function");
		assert_non_null(strstr(f.file, "worker_files.c"));
		assert_true(f.line > 0 && f.decl_line > 0 && f.lang > 0);
	}
	assert_int_equal(p.n_debug, 1);
	assert_int_equal(frames(&p, 2, &f, &symbol), 1);
	assert_int_equal(p.n_debug, 2);
	assert_int_equal(frames(&p, 1, &f, &symbol), 1);
	assert_int_equal(p.n_debug, 2);
	worker_files_free(p.files);
}

static void searches_again_for_another_version(void **state)
{
	struct parent p = { .own = "/proc/self/exe" };
	struct worker_file *f;
	int fd = open(p.own, O_RDONLY | O_CLOEXEC);

	start(&p, 256 << 20);
	f = worker_files_get(p.files, 1);
	symbol_file_use(worker_file_own(f), fd, NULL);
	for (uint32_t version = 0; version < 3; version++) {
		assert_true(worker_file_open_debug(p.files, f, version));
		assert_true(worker_file_open_debug(p.files, f, version));
		assert_int_equal(p.n_debug, (int)version + 1);
	}
	worker_files_end(p.files, f, 0);
	close(fd);
	worker_files_free(p.files);
}

/* Makes a file without sections but the build id of this program, if @has_id. */
static int stripped_fd(bool has_id)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	_cleanup_(closep) int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_build_id own;
	struct fixture elf;
	int fd;

	assert_int_equal(elf_image_open(&img, self, NULL), 0);
	elf_note_gnu_build_id(img, &own);
	if (!has_id)
		own.bytes[0] ^= 1;
	fixture_init(&elf);
	fixture_add_build_id(&elf, own.bytes, own.len);
	fd = fixture_memfd(&elf);
	fixture_fini(&elf);
	return fd;
}

static void takes_what_the_file_lacks_from_its_own_debug_file_only(void **state)
{
	for (int is_own = 0; is_own < 2; is_own++) {
		struct parent p = { .debug = "/proc/self/exe" };
		int fd = stripped_fd(is_own);
		struct dwarf_frame f;
		const char *symbol;
		char path[32];

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		p.own = path;
		start(&p, 256 << 20);
		assert_int_equal(frames(&p, 1, &f, &symbol), is_own);
		assert_string_equal(symbol, is_own ? "wanted_function" : "");
		assert_int_equal(p.n_debug, 1);
		worker_files_free(p.files);
		close(fd);
	}
}

static void over_the_budget_the_least_recently_used_file_is_closed(void **state)
{
	struct parent p = { .own = "/proc/self/exe" };
	struct dwarf_frame f;
	const char *symbol;

	start(&p, 1);
	assert_int_equal(frames(&p, 1, &f, &symbol), 1);
	assert_int_equal(frames(&p, 2, &f, &symbol), 1);
	assert_int_equal(p.n_debug, 2);
	assert_int_equal(frames(&p, 2, &f, &symbol), 1);
	assert_int_equal(p.n_debug, 2);
	assert_int_equal(frames(&p, 1, &f, &symbol), 1);
	assert_int_equal(p.n_debug, 3);
	worker_files_free(p.files);
}

static void a_file_larger_than_the_budget_still_has_frames(void **state)
{
	struct parent p = { .own = "/proc/self/exe" };
	struct dwarf_frame f;
	const char *symbol;

	start(&p, 1);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(frames(&p, 1, &f, &symbol), 1);
		assert_string_equal(f.name, "wanted_function");
	}
	assert_int_equal(p.n_debug, 1);
	worker_files_free(p.files);
}

static void symbol_tables_obey_their_budget(void **state)
{
	struct parent p = { .own = "/proc/self/exe" };
	uint64_t vaddrs[2 * ELF_SCAN_MAX];
	const char *names[2 * ELF_SCAN_MAX];
	int fd = open(p.own, O_RDONLY | O_CLOEXEC);
	size_t one = 0;

	start(&p, 256 << 20);
	for (uint64_t key = 1; key <= 6; key++) {
		struct worker_file *f = worker_files_get(p.files, key);

		for (size_t i = 0; i < 2 * ELF_SCAN_MAX; i++)
			vaddrs[i] = wanted_addr();
		symbol_file_use(worker_file_own(f), fd, NULL);
		symbol_file_find_names(worker_file_own(f), SYMBOL_TABLE_SYMTAB, vaddrs,
				       2 * ELF_SCAN_MAX, names);
		assert_string_equal(names[0], "wanted_function");
		if (key == 1)
			one = worker_files_table_bytes(p.files);
		worker_files_end(p.files, f, 2 * one + one / 2);
		assert_int_equal(worker_files_table_bytes(p.files), key < 2 ? one : 2 * one);
	}
	assert_true(one > 0);
	close(fd);
	worker_files_free(p.files);
}

static void the_number_of_files_is_limited(void **state)
{
	enum { MANY = 3000 };
	struct parent p = { .own = "/etc/passwd" };
	struct worker_file *first;

	start(&p, 256 << 20);
	first = worker_files_get(p.files, 1);
	for (uint64_t key = 2; key <= MANY; key++) {
		assert_non_null(worker_files_get(p.files, key));
		assert_ptr_equal(worker_files_get(p.files, 1), first);
	}
	worker_files_free(p.files);
}

TEST_GROUP(test_worker_files, TEST(opens_debug_information_once_for_its_key),
	   TEST(searches_again_for_another_version),
	   TEST(takes_what_the_file_lacks_from_its_own_debug_file_only),
	   TEST(over_the_budget_the_least_recently_used_file_is_closed),
	   TEST(a_file_larger_than_the_budget_still_has_frames),
	   TEST(symbol_tables_obey_their_budget), TEST(the_number_of_files_is_limited))
