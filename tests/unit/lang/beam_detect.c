/* SPDX-License-Identifier: Apache-2.0 */
/* covers: src/lang/beam/detect.c */
#include <errno.h>
#include <string.h>

#include "code_file.h"
#include "lang/beam/beam.h"
#include "tests/test.h"

int test_beam_detect(void);

enum {
	VM = 1,
	INIT = 0x100,   /* erts_init_ranges() */
	GET = 0x300,    /* erts_get_scheduler_data() */
	NIF = 0x400,    /* enif_get_int() */
	DRIVER = 0x440, /* driver_output() */
	DIRTY = 0x500,  /* erts_dirty_process_main() */
	RELEASE = DATA_AT,
	ACTIVE = DATA_AT + 0x100,
	EXIT = DATA_AT + 0x108,
	ATOMS = DATA_AT + 0x200,
	KEY = DATA_AT + 0x400,
	RANGES = DATA_AT + 0x800,
};

extern const struct lang beam_lang;

static struct beam_vm beam[2];
static struct lang_detected d;

static void put_release(struct code_file *f, const char *release)
{
	memset(f->data, 0, 8);
	memcpy(f->data, release, strlen(release));
}

/* movq $0,address(%rip) */
static uint32_t put_store(struct code_file *f, uint32_t at, uint64_t address)
{
	at = RELATIVE(f, at, "\x48\xc7\x05", address - 4);
	return BYTES(f, at, "\0\0\0\0");
}

/* Sets modules and mid of each generation to 0, after another variable. */
static void put_init(struct code_file *f)
{
	uint32_t at = put_store(f, INIT, RANGES - 8);

	for (uint64_t i = 0; i < BEAM_GENERATIONS; i++) {
		at = put_store(f, at, RANGES + i * BEAM_RANGES_BYTES);
		at = put_store(f, at, RANGES + i * BEAM_RANGES_BYTES + 24);
	}
	code_file_symbol(f, "erts_init_ranges", CODE_AT + INIT, at - INIT);
}

static void put_runtime(struct code_file *f, const char *release)
{
	put_release(f, release);
	code_file_symbol(f, "enif_get_int", CODE_AT + NIF, 0x20);
	code_file_symbol(f, "driver_output", CODE_AT + DRIVER, 0x20);
	code_file_symbol(f, "etp_otp_release", RELEASE, strlen(release) + 1);
}

static void put_variables(struct code_file *f)
{
	code_file_symbol(f, "the_active_code_index", ACTIVE, 4);
	code_file_symbol(f, "beam_normal_exit", EXIT, 8);
	code_file_symbol(f, "erts_atom_table", ATOMS, 200);
}

static void put_code(struct code_file *f)
{
	code_file_symbol(f, "erts_dirty_process_main", CODE_AT + DIRTY, 0x80);
	code_file_symbol(f, "erts_get_scheduler_data", CODE_AT + GET, 16);
	RELATIVE(f, GET, "\x8b\x3d", KEY); /* mov key(%rip),%edi */
}

static int detect(struct code_file *f)
{
	const struct vm_tables tables = { .beam = beam };

	memset(beam, 0, sizeof(beam));
	d = (struct lang_detected){ 0 };
	return beam_lang.detect(code_file_open(f), &tables, VM, &d);
}

static void finds_what_the_walk_reads(void **state)
{
	struct code_file *f = *state;

	put_runtime(f, "27");
	put_variables(f);
	put_code(f);
	put_init(f);
	assert_int_equal(detect(f), 0);
	assert_string_equal(d.runtime, "Erlang/OTP");
	assert_string_equal(d.version, "27");
	assert_int_equal(beam[VM].ranges, RANGES);
	assert_int_equal(beam[VM].active, ACTIVE);
	assert_int_equal(beam[VM].normal_exit, EXIT);
	assert_int_equal(beam[VM].atoms, ATOMS);
	assert_int_equal(beam[VM].thread_key, KEY);
	assert_int_equal(beam[VM].functions, 136);
	assert_int_equal(d.code.stepped[0].hi - d.code.stepped[0].lo, 0x80);
	put_release(f, "25");
	assert_int_equal(detect(f), 0);
	assert_int_equal(beam[VM].functions, 96);
}

static void expect_refused(struct code_file *f, const char *version, const char *problem)
{
	assert_int_equal(detect(f), -ENOTSUP);
	assert_string_equal(d.version, version);
	if (problem)
		assert_string_equal(d.problem, problem);
	else
		assert_null(d.problem);
	assert_int_equal(beam[VM].functions, 0);
}

static void refuses_by_name(void **state)
{
	struct code_file *f = *state;

	put_runtime(f, "29");
	expect_refused(f, "29", NULL);
	put_release(f, "xx");
	expect_refused(f, "", "it does not export its variables");
	put_release(f, "27");
	expect_refused(f, "27", "it has no JIT");
	code_file_symbol(f, "etp_beamasm", RELEASE + 16, 4);
	expect_refused(f, "27", "it does not export its variables");
	put_variables(f);
	expect_refused(f, "27", "its list of modules or its threads were not found");
	put_init(f);
	expect_refused(f, "27", "its list of modules or its threads were not found");
	code_file_symbol(f, "erts_get_scheduler_data", CODE_AT + GET, 16);
	expect_refused(f, "27", "its list of modules or its threads were not found");
}

static void is_no_other_program(void **state)
{
	struct code_file *f = *state;

	code_file_symbol(f, "enif_get_int", CODE_AT + NIF, 0x20);
	assert_int_equal(detect(f), -ENOENT);
}

int test_beam_detect(void)
{
	const struct CMUnitTest tests[] = {
		CODE_TEST(finds_what_the_walk_reads),
		CODE_TEST(refuses_by_name),
		CODE_TEST(is_no_other_program),
	};

	return TEST_RUN("test_beam_detect", tests, NULL, NULL);
}
