/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/kernel_symbols.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/test.h"

#define KERNEL  "ffffffff81000000 T first\nffffffff81000100 T _etext\n"
#define MODULE  "ffffffffc0001000 t in_module\t[m]\n"
#define PROGRAM "ffffffffc0009000 t bpf_prog_1\t[bpf]\n"

static const uint64_t SECOND = 1000000000;

/* A kernel that loads modules and BPF programs. */
struct world {
	const char *symbols;
	uint64_t modules;
	int n_loads;
};

static int load(void *ctx, struct kallsyms **out)
{
	struct world *w = ctx;
	_cleanup_(closep) int fd = memfd_create("kallsyms", MFD_CLOEXEC);

	w->n_loads++;
	if (!w->symbols)
		return -EPERM;
	assert_int_equal(write(fd, w->symbols, strlen(w->symbols)), strlen(w->symbols));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return kallsyms_load_fds(out, fd, -1, NULL);
}

static uint64_t modules(void *ctx)
{
	const struct world *w = ctx;

	return w->modules;
}

static struct kernel_symbols *symbols_new(struct world *w, const _Atomic uint32_t *n_changes)
{
	const struct kernel_symbols_source source = { load, modules, w };
	struct kernel_symbols *k;

	assert_int_equal(kernel_symbols_new(&k, n_changes, &source), 0);
	return k;
}

static const char *name_at(struct kernel_symbols *k, uint64_t address, uint64_t now_ns)
{
	struct kallsyms_symbol s;

	return kernel_symbols_find(k, address, now_ns, &s) == 0 ? s.name : "";
}

static void a_module_that_is_loaded_later_has_symbols(void **state)
{
	struct world w = { .symbols = KERNEL };
	struct kernel_symbols *k = symbols_new(&w, NULL);

	assert_string_equal(name_at(k, 0xffffffff81000010, 1), "first");
	assert_string_equal(name_at(k, 0xffffffffc0001010, 1), "");
	w.symbols = KERNEL MODULE;
	w.modules = 1;
	assert_string_equal(name_at(k, 0xffffffffc0001010, 1), "");
	assert_string_equal(name_at(k, 0xffffffffc0001010, 10 * SECOND), "in_module");
	assert_int_equal(w.n_loads, 2);
	kernel_symbols_free(k);
}

/* The address of a program that is gone may belong to the next one. */
static void a_program_that_replaces_another_has_its_own_name(void **state)
{
	_Atomic uint32_t n_changes = 0;
	struct world w = { .symbols = KERNEL PROGRAM };
	struct kernel_symbols *k = symbols_new(&w, &n_changes);

	assert_string_equal(name_at(k, 0xffffffffc0009010, 1), "bpf_prog_1");
	w.symbols = KERNEL "ffffffffc0009000 t bpf_prog_2\t[bpf]\n";
	n_changes = 2;
	assert_string_equal(name_at(k, 0xffffffffc0009010, 10 * SECOND), "bpf_prog_2");
	kernel_symbols_free(k);
}

static void the_table_is_not_read_again_without_need(void **state)
{
	_Atomic uint32_t n_changes = 0;
	struct world w = { .symbols = KERNEL PROGRAM };
	struct kernel_symbols *k = symbols_new(&w, &n_changes);

	for (uint64_t t = 0; t < 100; t++) {
		/* the kernel itself does not change */
		assert_string_equal(name_at(k, 0xffffffff81000010, t * SECOND), "first");
		w.modules += t < 50;
	}
	assert_int_equal(w.n_loads, 1);
	assert_string_equal(name_at(k, 0xffffffffc0009010, 200 * SECOND), "bpf_prog_1");
	assert_int_equal(w.n_loads, 2);
	for (uint64_t t = 0; t < 100; t++)
		assert_string_equal(name_at(k, 0x10, (300 + t) * SECOND), "");
	assert_int_equal(w.n_loads, 2);
	/* changes in quick succession wait */
	for (uint64_t t = 0; t < 100; t++) {
		n_changes++;
		(void)name_at(k, 0x10, 500 * SECOND + t);
	}
	assert_int_equal(w.n_loads, 3);
	kernel_symbols_free(k);
}

static void hidden_symbols_are_no_error(void **state)
{
	struct world w = { .symbols = NULL };
	struct kernel_symbols *k = symbols_new(&w, NULL);

	assert_string_equal(name_at(k, 0xffffffff81000010, 1), "");
	assert_string_equal(name_at(k, 0xffffffff81000010, 100 * SECOND), "");
	assert_int_equal(w.n_loads, 1);
	kernel_symbols_free(k);
}

static void the_source_is_proc(void **state)
{
	struct kernel_symbols *k;
	struct kallsyms_symbol s;

	assert_int_equal(kernel_symbols_new(&k, NULL, NULL), 0);
	assert_int_equal(kernel_symbols_find(k, 0x10, 1, &s), -ENOENT);
	kernel_symbols_free(k);
}

TEST_GROUP(test_kernel_symbols, TEST(a_module_that_is_loaded_later_has_symbols),
	   TEST(a_program_that_replaces_another_has_its_own_name),
	   TEST(the_table_is_not_read_again_without_need), TEST(hidden_symbols_are_no_error),
	   TEST(the_source_is_proc))
