/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/kallsyms.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "base/err.h"
#include "tests/test.h"

static int file_with(const char *text, size_t len)
{
	int fd = memfd_create("kallsyms", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static int load(struct kallsyms **out, const char *symbols, const char *modules, struct err *err)
{
	_cleanup_(closep) int s = file_with(symbols, strlen(symbols));
	_cleanup_(closep) int m = modules ? file_with(modules, strlen(modules)) : -1;

	return kallsyms_load_fds(out, s, m, err);
}

static const char *name_at(const struct kallsyms *k, uint64_t address)
{
	struct kallsyms_symbol s;

	return kallsyms_find(k, address, &s) == 0 ? s.name : "";
}

static void finds_code_of_kernel_modules_and_bpf_programs(void **state)
{
	_cleanup_(kallsyms_freep) struct kallsyms *k = NULL;
	struct kallsyms_symbol s;

	assert_int_equal(load(&k,
			      "0000000000000000 A fixed_percpu_data\n"
			      "ffffffff81000100 T second\n"
			      "ffffffff81000000 t first\n"
			      "ffffffff81000180 D data\n"
			      "ffffffff81000200 T _etext\n"
			      "ffffffff82000000 T init\n"
			      "ffffffff82000010 T _einittext\n"
			      "ffffffffc0001000 t mod_fn\t[nf_tables]\n"
			      "ffffffffc0009000 t bpf_prog_6deef7357e7b4530_prog\t[bpf]\n",
			      "nf_tables 4096 1 - Live 0xffffffffc0001000\n", NULL),
			 0);
	assert_int_equal(kallsyms_find(k, 0xffffffff810000ff, &s), 0);
	assert_string_equal(s.name, "first");
	assert_string_equal(s.module, "");
	assert_int_equal(s.size, 0x100);
	assert_true(s.address == 0xffffffff81000000);
	assert_string_equal(name_at(k, 0xffffffff810001ff), "second");
	assert_string_equal(name_at(k, 0xffffffff8200000f), "init");
	assert_int_equal(kallsyms_find(k, 0xffffffffc0001fff, &s), 0);
	assert_string_equal(s.name, "mod_fn");
	assert_string_equal(s.module, "[nf_tables]");
	assert_int_equal(kallsyms_find(k, 0xffffffffc0009020, &s), 0);
	assert_string_equal(s.name, "bpf_prog_6deef7357e7b4530_prog");
	assert_string_equal(s.module, "[bpf]");
}

static void finds_no_symbol_outside_of_code(void **state)
{
	_cleanup_(kallsyms_freep) struct kallsyms *k = NULL;

	assert_int_equal(load(&k,
			      "ffffffff81000000 T first\n"
			      "ffffffff81000200 T _etext\n"
			      "ffffffffc0001000 t mod_fn\t[m]\n",
			      "m 4096 1 a,b, Live 0xffffffffc0001000 (O)\n", NULL),
			 0);
	assert_string_equal(name_at(k, 0), "");
	assert_string_equal(name_at(k, 0xffffffff80ffffff), "");
	assert_string_equal(name_at(k, 0xffffffff81000200), "");
	assert_string_equal(name_at(k, 0xffffffffc0000fff), "");
	assert_string_equal(name_at(k, 0xffffffffc0002000), "");
	assert_string_equal(name_at(k, UINT64_MAX), "");
}

static void padding_belongs_to_its_function(void **state)
{
	_cleanup_(kallsyms_freep) struct kallsyms *k = NULL;

	assert_int_equal(load(&k,
			      "ffffffff81000020 t last\n"
			      "ffffffff81000010 t __pfx_last\n"
			      "ffffffff81000000 T first\n"
			      "ffffffff81000020 T also_last\n"
			      "ffffffff81000400 t __pfx_far\n"
			      "ffffffff81001000 T far\n"
			      "ffffffff81002000 t __pfx_none\n"
			      "ffffffff81002010 T _etext\n"
			      "ffffffffc0000ff0 t __pfx_other\t[one]\n"
			      "ffffffffc0001000 t other\t[two]\n",
			      NULL, NULL),
			 0);
	assert_int_equal(kallsyms_count(k), 5);
	assert_string_equal(name_at(k, 0xffffffff8100000f), "first");
	assert_string_equal(name_at(k, 0xffffffff81000010), "also_last");
	assert_string_equal(name_at(k, 0xffffffff81000020), "also_last");
	/* too far away to be padding */
	assert_string_equal(name_at(k, 0xffffffff81000fff), "also_last");
	assert_string_equal(name_at(k, 0xffffffff81001000), "far");
	assert_string_equal(name_at(k, 0xffffffff8100200f), "far");
	assert_string_equal(name_at(k, 0xffffffff81002010), "");
	assert_string_equal(name_at(k, 0xffffffffc0001000), "other");
	assert_string_equal(name_at(k, 0xffffffffc0000ff0), "");
}

static void a_kernel_of_padding_alone_has_no_symbols(void **state)
{
	_cleanup_(kallsyms_freep) struct kallsyms *k = NULL;

	assert_int_equal(load(&k, "ffffffffc0009000 t __pfx_fn\n", NULL, NULL), 0);
	assert_string_equal(name_at(k, 0xffffffffc0009000), "");
}

static void selects_one_alias_in_any_order(void **state)
{
	static const char *const texts[] = {
		"f000 t aa\nf000 W w\nf000 T __global\nf000 T _global2\nf000 T _global1\nf000 T "
		"_etext\n",
		"f000 T _etext\nf000 T _global1\nf000 T _global2\nf000 T __global\nf000 W w\nf000 "
		"t aa\n",
	};

	for (size_t i = 0; i < 2; i++) {
		_cleanup_(kallsyms_freep) struct kallsyms *k = NULL;

		assert_int_equal(load(&k, texts[i], NULL, NULL), 0);
		assert_int_equal(kallsyms_count(k), 1);
		assert_string_equal(name_at(k, 0xf000), "_global1");
	}
}

static void hidden_addresses_are_eperm_with_a_remedy(void **state)
{
	struct kallsyms *k = NULL;
	struct err err = { 0 };

	assert_int_equal(load(&k,
			      "0000000000000000 T a\n0000000000000000 t b\t[m]\n"
			      "0000000000000000 D c\n",
			      "m 4096 1 - Live 0x0000000000000000\n", &err),
			 -EPERM);
	assert_non_null(strstr(err.msg, "kernel.kptr_restrict"));
	assert_null(k);
}

static void refuses_invalid_lines(void **state)
{
	static const struct {
		const char *symbols, *modules;
	} bad[] = {
		{ "nonsense\n", NULL },
		{ "ffff T\n", NULL },
		{ "ffff T \n", NULL },
		{ "fffffffffffffffff T a\n", NULL },
		{ "ffff T a\nffff T b", NULL },
		{ "ffff T a\n", "m 4096\n" },
		{ "ffff T a\n", "m x 1 - Live 0x1000\n" },
		{ "ffff T a\n", "m 1 1 - Live 1000\n" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct kallsyms *k = NULL;
		struct err err = { 0 };

		assert_int_equal(load(&k, bad[i].symbols, bad[i].modules, &err), -EBADMSG);
		assert_true(err.msg[0]);
		assert_null(k);
	}
}

static void omits_a_name_that_exceeds_the_buffer(void **state)
{
	_cleanup_(kallsyms_freep) struct kallsyms *k = NULL;
	struct buf b = { 0 };

	buf_put_str(&b, "1000 T ");
	for (int i = 0; i < 100000; i++)
		buf_put_byte(&b, 'x');
	buf_put_str(&b, "\n2000 T next\n");
	buf_put_byte(&b, '\0');
	assert_int_equal(load(&k, (const char *)b.data, NULL, NULL), 0);
	assert_int_equal(kallsyms_count(k), 1);
	assert_string_equal(name_at(k, 0x2000), "next");
	buf_fini(&b);
}

/*
 * Reads the running kernel's table if its addresses are visible. Every symbol found is in the file.
 */
static void reads_this_kernels_symbols(void **state)
{
	_cleanup_(kallsyms_freep) struct kallsyms *k = NULL;
	_cleanup_(fclosep) FILE *f = NULL;
	char line[1024], name[512], type;
	unsigned long address, n_found = 0;
	int r = kallsyms_load(&k, NULL);

	if (r == -EPERM || r == -ENOENT)
		skip();
	assert_int_equal(r, 0);
	f = fopen("/proc/kallsyms", "re");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx %c %511s", &address, &type, name) == 3 && address &&
		    !strcmp(name_at(k, address), name))
			n_found++;
	}
	assert_true(n_found * 10 > kallsyms_count(k) * 9);
}

TEST_GROUP(test_kallsyms, TEST(finds_code_of_kernel_modules_and_bpf_programs),
	   TEST(finds_no_symbol_outside_of_code), TEST(padding_belongs_to_its_function),
	   TEST(a_kernel_of_padding_alone_has_no_symbols), TEST(selects_one_alias_in_any_order),
	   TEST(hidden_addresses_are_eperm_with_a_remedy), TEST(refuses_invalid_lines),
	   TEST(omits_a_name_that_exceeds_the_buffer), TEST(reads_this_kernels_symbols))
