/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/function_extents.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/image.h"
#include "tests/unit/elf/fixture.h"
#include "tests/x86_64.h"

enum { TEXT = 0x1000 };

/* Instructions, and padding to the next multiple of 16. */
#define RET      "\xc3"
#define JE(n)    "\x74" n
#define JMP(n)   "\xeb" n
#define CALL     "\xe8\x00\x00\x00\x00"
#define NOP      "\x48\x89\xc0" /* mov %rax,%rax */
#define PUSH_RBX "\x53"
#define POP_RBX  "\x5b"
#define NOT_CODE "\x06"
#define INT3(n)  INT3_##n
#define INT3_2   "\xcc\xcc"
#define INT3_11  "\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc"
#define INT3_12  INT3_11 "\xcc"
#define INT3_13  INT3_12 "\xcc"
#define LONG_NOP "\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00\x66\x90" /* 12 bytes */

/* A file whose only section is code without CFI. */
struct code {
	struct fixture f;
	struct function_extents *fe;
};

static void code_init(struct code *c, const void *bytes, size_t len)
{
	fixture_init(&c->f);
	fixture_load(&c->f, fixture_add(&c->f, ".text", SHT_PROGBITS, bytes, len), TEXT,
		     PF_R | PF_X);
	assert_int_equal(function_extents_new(&c->fe, fixture_open(&c->f)), 0);
}

static void code_fini(struct code *c)
{
	function_extents_free(c->fe);
	fixture_fini(&c->f);
}

#define CODE_INIT(c, bytes) code_init(c, bytes, sizeof(bytes) - 1)

static int64_t start_of(const struct code *c, uint64_t off)
{
	uint64_t start;
	int r = function_extents_start(c->fe, TEXT + off, &start);

	return r < 0 ? r : (int64_t)start - TEXT;
}

static uint64_t end_of(const struct code *c, uint64_t off)
{
	return function_extents_end(c->fe, TEXT + off, UINT64_MAX) - TEXT;
}

static void all_addresses_of_a_function_have_its_start(void **state)
{
	struct code c;

	CODE_INIT(&c, NOP RET LONG_NOP NOP RET INT3(12) NOP RET);
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(start_of(&c, i), 0);
		assert_int_equal(start_of(&c, 16 + i), 16);
		assert_int_equal(start_of(&c, 32 + i), 32);
	}
	assert_int_equal(end_of(&c, 0), 4);
	assert_int_equal(end_of(&c, 16), 20);
	assert_int_equal(end_of(&c, 32), 36);
	assert_int_equal(start_of(&c, 36), -ENOENT);
	code_fini(&c);
}

static void a_function_extends_to_where_its_branches_lead(void **state)
{
	struct code c;

	/* je over the first ret, jmp over data */
	CODE_INIT(&c, JE("\x01") RET NOP JMP("\x01") NOT_CODE NOP RET RET);
	assert_int_equal(end_of(&c, 0), 13);
	assert_int_equal(start_of(&c, 12), 0);
	assert_int_equal(start_of(&c, 13), 13);
	code_fini(&c);
}

static void a_tail_call_and_a_call_without_return_end_a_function(void **state)
{
	struct code c;

	CODE_INIT(&c, JMP("\x0e") INT3(12) INT3(2) NOP CALL RET "\xcc" CALL "\xcc" RET);
	assert_int_equal(end_of(&c, 0), 2);
	assert_int_equal(start_of(&c, 16), 16);
	code_fini(&c);
	CODE_INIT(&c, CALL INT3(11) NOP RET);
	assert_int_equal(end_of(&c, 0), 5);
	assert_int_equal(start_of(&c, 17), 16);
	code_fini(&c);
}

/* As where -fstack-protector's call of __stack_chk_fail() ends right before another function. */
static void a_function_may_follow_a_call_that_does_not_return(void **state)
{
	static const char code[] = "\xe9\x0b\x00\x00\x00" INT3_2 "\xcc" /* jmp 16 */
		NOP "\xe8\xf0\xff\xff\xff"                              /* 8; call 0 */
		PUSH_RBX NOP CALL POP_RBX RET;                          /* 16 */
	struct code c;

	code_init(&c, code, sizeof(code) - 1);
	assert_int_equal(end_of(&c, 0), 5);
	assert_int_equal(start_of(&c, 4), 0);
	assert_int_equal(start_of(&c, 12), 8);
	assert_int_equal(start_of(&c, 16), 16);
	assert_int_equal(start_of(&c, 25), 16);
	code_fini(&c);
}

/* As between the builtins of V8. */
static void a_conditional_tail_call_ends_at_the_padding(void **state)
{
	struct code c;

	CODE_INIT(&c, JE("\x0e") RET INT3(13) NOP RET);
	assert_int_equal(end_of(&c, 0), 3);
	assert_int_equal(start_of(&c, 17), 16);
	code_fini(&c);
}

static void data_does_not_hide_the_next_function(void **state)
{
	struct code c;

	CODE_INIT(&c, NOT_CODE NOT_CODE NOT_CODE INT3(13) NOP RET);
	assert_int_equal(start_of(&c, 1), 0);
	assert_int_equal(start_of(&c, 18), 16);
	code_fini(&c);
}

static void an_end_is_within_the_limit_and_the_section(void **state)
{
	struct code c;

	CODE_INIT(&c, NOP NOP NOP JMP("\x7f"));
	assert_int_equal(end_of(&c, 0), 11);
	assert_int_equal(function_extents_end(c.fe, TEXT, TEXT + 6), TEXT + 6);
	assert_int_equal(start_of(&c, 11), -ENOENT);
	assert_int_equal(start_of(&c, (uint64_t)-1), -ENOENT);
	code_fini(&c);
}

static void constants_do_not_hide_the_next_function(void **state)
{
	/* a function, then the numbers 0, 1 and 4 as OpenSSL's rsaz-avx2 has them, then another */
	static const char code[] = NOP NOP RET "\0\0\0\0\0\0\0\0\0"
					       "\1\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0"
					       "\4\0\0\0\4\0\0\0\4\0\0\0\4\0\0\0" NOP NOP RET;
	struct code c;

	code_init(&c, code, sizeof(code) - 1);
	assert_int_equal(start_of(&c, 6), 0);
	assert_int_equal(start_of(&c, 48), 48);
	assert_int_equal(start_of(&c, 54), 48);
	assert_int_equal(end_of(&c, 0), 7);
	code_fini(&c);
}

/* A search table whose FDEs cannot be read, as in a file that strip damaged. */
static void each_entry_of_a_damaged_search_table_is_a_start(void **state)
{
	enum { HDR = 0x3000, FDES = 0x700000 };
	static const char code[] = NOP RET LONG_NOP NOP RET INT3(12) NOP RET;
	const struct {
		uint8_t form[4];
		int32_t frame, count, entries[3][2];
	} hdr = { { 1, 0x1b, 0x03, 0x3b },
		  0,
		  3,
		  { { TEXT - HDR, FDES }, { TEXT + 16 - HDR, FDES }, { TEXT + 32 - HDR, FDES } } };
	struct code c;

	fixture_init(&c.f);
	fixture_load(&c.f, fixture_add(&c.f, ".text", SHT_PROGBITS, code, sizeof(code) - 1), TEXT,
		     PF_R | PF_X);
	fixture_load(&c.f, fixture_add(&c.f, ".eh_frame_hdr", SHT_PROGBITS, &hdr, sizeof(hdr)), HDR,
		     PF_R);
	c.f.ph[c.f.n_segments] = c.f.ph[c.f.n_segments - 1];
	c.f.ph[c.f.n_segments++].p_type = PT_GNU_EH_FRAME;
	assert_int_equal(function_extents_new(&c.fe, fixture_open(&c.f)), 0);
	assert_int_equal(start_of(&c, 1), 0);
	assert_int_equal(start_of(&c, 33), 32);
	assert_int_equal(start_of(&c, 17), 16);
	code_fini(&c);
}

/*
 * Code of more than FUNCTION_EXTENTS_SWEEP_MAX bytes. Its functions have up to 4 KiB, jump forward,
 * and contain aligned code behind padding, which looks like another function.
 */
static void functions_of_a_large_file_have_their_starts(void **state)
{
	enum { LEN = FUNCTION_EXTENTS_SWEEP_MAX + (2 << 20), N_MAX = 1 << 16 };
	static const char jump[] = "\x0f\x84"; /* je, 4 bytes of distance */
	_cleanup_(freep) uint8_t *bytes = malloc(LEN);
	_cleanup_(freep) uint32_t *starts = calloc(N_MAX, sizeof(*starts));
	size_t n = 0;
	struct code c;

	assert_true(bytes && starts);
	memset(bytes, 0xcc, LEN);
	srandom(31);
	for (uint32_t at = 0; at + 4096 < LEN && n < N_MAX;) {
		uint32_t len = 64 + (uint32_t)random() % 3968, inner = at + 32, to;

		starts[n++] = at;
		memset(bytes + at, 0x93, len); /* xchg %eax,%ebx */
		to = len - 8 - 6;
		memcpy(bytes + at, jump, 2);
		memcpy(bytes + at + 2, &to, sizeof(to));
		bytes[inner - 2] = 0xc3;
		bytes[inner - 1] = 0x90;
		bytes[at + len - 1] = 0xc3;
		at += (len + 15) & ~15u;
	}
	code_init(&c, bytes, LEN);
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i + 1 < n; i++) {
			assert_int_equal(start_of(&c, starts[i]), starts[i]);
			assert_int_equal(start_of(&c, starts[i] + 40), starts[i]);
		}
	}
	assert_true(function_extents_bytes(c.fe) < 4 << 20);
	code_fini(&c);
}

TEST_GROUP_OF_X86_64(test_function_extents, TEST(all_addresses_of_a_function_have_its_start),
		     TEST(a_function_extends_to_where_its_branches_lead),
		     TEST(a_tail_call_and_a_call_without_return_end_a_function),
		     TEST(a_function_may_follow_a_call_that_does_not_return),
		     TEST(a_conditional_tail_call_ends_at_the_padding),
		     TEST(data_does_not_hide_the_next_function),
		     TEST(constants_do_not_hide_the_next_function),
		     TEST(an_end_is_within_the_limit_and_the_section),
		     TEST(each_entry_of_a_damaged_search_table_is_a_start),
		     TEST(functions_of_a_large_file_have_their_starts))
