/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/eh_frame.h"

#include <elf.h>
#include <errno.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "elf/eh_frame_hdr.h"
#include "elf/image.h"
#include "tests/cfi.h"
#include "tests/x86_64.h"

enum {
	START = 0x1000,
	NOP = 0,
	ABSPTR = 0,
	SECTION_VADDR = 0x20000,
	TEXT = 0x300000,
	DATA = 0x400000
};

struct seen {
	struct cfi_state state[64];
	uint64_t start[64], end[64];
	size_t n;
	int stop_at;
};

static int see(void *ctx, uint64_t start, uint64_t end, const struct cfi_state *s)
{
	struct seen *seen = ctx;

	assert_true(seen->n < 64);
	seen->start[seen->n] = start;
	seen->end[seen->n] = end;
	seen->state[seen->n++] = *s;
	return (int)seen->n == seen->stop_at ? 7 : 0;
}

static struct eh_frame_source source_of(const struct cfi_bytes *b)
{
	return (struct eh_frame_source){
		.span = { .data = b->data, .len = b->len, .vaddr = SECTION_VADDR },
		.text_base = TEXT,
		.data_base = DATA,
	};
}

static int read_bytes(struct eh_frame *ef, const struct cfi_bytes *b)
{
	struct eh_frame_source src = source_of(b);

	return eh_frame_read(ef, &src, NULL);
}

/* Executes the CFI of the first function of @b. */
static int replay(const struct cfi_bytes *b, struct seen *seen)
{
	_cleanup_(eh_frame_fini) struct eh_frame ef = { 0 };
	int r = read_bytes(&ef, b);

	assert_int_equal(r, 0);
	assert_true(ef.fdes.len >= 1);
	return eh_frame_run(&ef, &ef.fdes.data[0], see, seen, NULL);
}

static void assert_value(struct cfi_value v, enum cfi_how how, int reg, int off)
{
	assert_int_equal(v.how, how);
	assert_int_equal(v.reg, reg);
	assert_int_equal(v.off, off);
}

static void advances_by_every_instruction(void **state)
{
	struct cfi_bytes b = { 0 };
	struct seen seen = { 0 };
	uint32_t cie = cfi_put_cie(&b, ABSPTR);

	cfi_begin_fde(&b, cie, START, 0x100000);
	CFI_PUT(&b, 0x41, 0x0e, 16);                     /* advance_loc 1 */
	CFI_PUT(&b, 0x02, 200, 0x0e, 24);                /* advance_loc1 */
	CFI_PUT(&b, 0x03, 0x00, 0x02, 0x0e, 32);         /* advance_loc2 0x200 */
	CFI_PUT(&b, 0x04, 0x00, 0x00, 0x01, 0, 0x0e, 8); /* advance_loc4 0x10000 */
	CFI_PUT(&b, 0x01);                               /* set_loc */
	cfi_put_u64(&b, START + 0x50000);
	CFI_PUT(&b, 0x0e, 0x80, 0x01, NOP);
	cfi_end(&b);
	assert_int_equal(replay(&b, &seen), 0);
	assert_int_equal(seen.n, 6);
	assert_int_equal(seen.start[0], START);
	assert_value(seen.state[0].cfa, CFI_REGISTER, 7, 8);
	assert_value(seen.state[0].col[CFI_RA], CFI_OFFSET, 0, -8);
	assert_int_equal(seen.start[1], START + 1);
	assert_int_equal(seen.start[2], START + 201);
	assert_int_equal(seen.start[3], START + 201 + 0x200);
	assert_int_equal(seen.start[4], START + 201 + 0x10200);
	assert_int_equal(seen.start[5], START + 0x50000);
	assert_int_equal(seen.end[5], START + 0x100000);
	assert_value(seen.state[5].cfa, CFI_REGISTER, 7, 128);
}

static void keeps_the_rules_of_four_registers(void **state)
{
	struct cfi_bytes b = { 0 };
	struct seen seen = { 0 };

	CFI_FDE(&b, cfi_put_cie(&b, ABSPTR), START, 16, 0x86, 2, 0x8c, 3, 0x83, 4,
		0x41,                                  /* offset rbp, r12, rbx */
		0x05, 6, 5, 0x11, 3, 0x7e, 0x41,       /* offset_extended, _sf */
		0x2f, 6, 2, 0x08, 3, 0x14, 7, 0, 0x41, /* negative offset, same, val_offset */
		0x09, 6, 9, 0x07, 3, 0x15, 7, 1, 0x41, /* register, undefined, val_offset_sf */
		0x10, 6, 2, 0x76, 0, 0x16, 3, 1, 0x30, /* expression, val_expression */
		0x07, 16, 0x41,                        /* undefined return address */
		0xc6, 0x06, 3, 0xd0, 0x41);            /* restore */
	assert_int_equal(replay(&b, &seen), 0);
	assert_int_equal(seen.n, 7);
	assert_value(seen.state[0].col[CFI_FP], CFI_OFFSET, 0, -16);
	assert_value(seen.state[0].col[CFI_AUX], CFI_OFFSET, 0, -32);
	assert_value(seen.state[0].col[CFI_SP], CFI_UNSPECIFIED, 0, 0);
	assert_value(seen.state[1].col[CFI_FP], CFI_OFFSET, 0, -40);
	assert_value(seen.state[1].col[CFI_AUX], CFI_OFFSET, 0, 16);
	assert_value(seen.state[2].col[CFI_FP], CFI_OFFSET, 0, 16);
	assert_value(seen.state[2].col[CFI_AUX], CFI_SAME, 0, 0);
	assert_value(seen.state[2].col[CFI_SP], CFI_VAL_OFFSET, 0, 0);
	assert_value(seen.state[3].col[CFI_FP], CFI_REGISTER, 9, 0);
	assert_value(seen.state[3].col[CFI_AUX], CFI_UNDEFINED, 0, 0);
	assert_value(seen.state[3].col[CFI_SP], CFI_VAL_OFFSET, 0, -8);
	assert_int_equal(seen.state[4].col[CFI_FP].how, CFI_EXPR);
	assert_int_equal(seen.state[4].col[CFI_AUX].how, CFI_VAL_EXPR);
	assert_int_equal(seen.state[4].col[CFI_RA].how, CFI_UNDEFINED);
	assert_int_equal(seen.state[5].col[CFI_FP].how, CFI_UNSPECIFIED);
	assert_int_equal(seen.state[5].col[CFI_AUX].how, CFI_UNSPECIFIED);
	assert_value(seen.state[5].col[CFI_RA], CFI_OFFSET, 0, -8);
}

static void follows_every_definition_of_the_cfa(void **state)
{
	struct cfi_bytes b = { 0 };
	struct seen seen = { 0 };

	CFI_FDE(&b, cfi_put_cie(&b, ABSPTR), START, 16, 0x0d, 6, 0x41, /* def_cfa_register rbp */
		0x13, 0x7e, 0x41,                                      /* def_cfa_offset_sf -2 */
		0x12, 7, 0x7d, 0x2e, 32, 0x41, /* def_cfa_sf, GNU_args_size */
		0x0c, 200, 1, 8, 0x41);        /* a register number that only DWARF defines */
	assert_int_equal(replay(&b, &seen), 0);
	assert_int_equal(seen.n, 5);
	assert_value(seen.state[0].cfa, CFI_REGISTER, 6, 8);
	assert_value(seen.state[1].cfa, CFI_REGISTER, 6, 16);
	assert_value(seen.state[2].cfa, CFI_REGISTER, 7, 24);
	assert_value(seen.state[3].cfa, CFI_REGISTER, 200, 8);
}

static void returns_from_an_expression_with_the_last_offset(void **state)
{
	struct cfi_bytes b = { 0 };
	struct seen seen = { 0 };

	CFI_FDE(&b, cfi_put_cie(&b, ABSPTR), START, 16, 0x0e, 56, 0x0f, 2, 0x77, 0, 0x41, 0x0d, 7,
		0x41, 0x0f, 2, 0x77, 0, 0x0e, 48, 0x41, 0x0d, 6, 0x41);
	assert_int_equal(replay(&b, &seen), 0);
	assert_int_equal(seen.n, 5);
	assert_int_equal(seen.state[0].cfa.how, CFI_EXPR);
	assert_value(seen.state[1].cfa, CFI_REGISTER, 7, 56);
	assert_int_equal(seen.state[2].cfa.how, CFI_EXPR);
	assert_value(seen.state[3].cfa, CFI_REGISTER, 6, 48);
}

static void marks_numbers_that_no_real_code_uses(void **state)
{
	struct cfi_bytes b = { 0 };
	struct seen seen = { 0 };

	CFI_FDE(&b, cfi_put_cie(&b, ABSPTR), START, 16, 0x0c, 7, 0xff, 0xff, 0xff, 0xff, 0x7f,
		0x41,            /* offset past 2 GiB */
		0x0e, 16, 0x41); /* no register was defined for it */
	assert_int_equal(replay(&b, &seen), 0);
	assert_int_equal(seen.state[0].cfa.how, CFI_OUT_OF_RANGE);
	assert_int_equal(seen.state[1].cfa.how, CFI_OUT_OF_RANGE);
}

static void nests_remembered_states(void **state)
{
	struct cfi_bytes b = { 0 };
	struct seen seen = { 0 };

	CFI_FDE(&b, cfi_put_cie(&b, ABSPTR), START, 16, 0x0e, 16, 0x0a, 0x0e, 24, 0x86, 2, 0x0a,
		0x0e, 32, 0x41, 0x0b, 0x41, 0x0b, 0x41);
	assert_int_equal(replay(&b, &seen), 0);
	assert_int_equal(seen.n, 4);
	assert_int_equal(seen.state[0].cfa.off, 32);
	assert_int_equal(seen.state[1].cfa.off, 24);
	assert_int_equal(seen.state[1].col[CFI_FP].how, CFI_OFFSET);
	assert_int_equal(seen.state[2].cfa.off, 16);
	assert_int_equal(seen.state[2].col[CFI_FP].how, CFI_UNSPECIFIED);
}

static void ends_at_a_malformed_instruction(void **state)
{
	static const uint8_t bad[][4] = {
		{ 0x0b },          /* restore_state without remember_state */
		{ 0x3f },          /* no such instruction */
		{ 0x0e, 0x80 },    /* LEB128 that does not end */
		{ 0x0f, 9, 0x77 }, /* expression that does not end */
		{ 0x04, 1 },       /* operand that does not end */
		{ 0x01, 1 },
	};
	static const size_t len[] = { 1, 1, 2, 3, 2, 2 };

	for (size_t i = 0; i < sizeof(len) / sizeof(len[0]); i++) {
		struct cfi_bytes b = { 0 };
		struct seen seen = { 0 };

		cfi_begin_fde(&b, cfi_put_cie(&b, ABSPTR), START, 16);
		CFI_PUT(&b, 0x42);
		cfi_put(&b, bad[i], len[i]);
		cfi_end(&b);
		assert_int_equal(replay(&b, &seen), -EBADMSG);
		assert_int_equal(seen.n, 1);
		assert_int_equal(seen.end[0], START + 2);
	}
}

static void refuses_states_nested_too_deep(void **state)
{
	struct cfi_bytes b = { 0 };
	struct seen seen = { 0 };

	cfi_begin_fde(&b, cfi_put_cie(&b, ABSPTR), START, 16);
	for (int i = 0; i < CFI_REMEMBER_MAX + 1; i++)
		CFI_PUT(&b, 0x0a);
	cfi_end(&b);
	assert_int_equal(replay(&b, &seen), -EBADMSG);
}

static void produces_no_row_past_the_functions_end(void **state)
{
	struct cfi_bytes b = { 0 };
	struct seen seen = { 0 };

	CFI_FDE(&b, cfi_put_cie(&b, ABSPTR), START, 16, 0x44, 0x0e, 16, 0x04, 0, 0, 0, 0x80, 0x0e,
		24, 0x41);
	assert_int_equal(replay(&b, &seen), 0);
	assert_int_equal(seen.n, 2);
	assert_int_equal(seen.end[1], START + 16);
}

static void the_callback_can_stop_the_replay(void **state)
{
	struct cfi_bytes b = { 0 };
	struct seen seen = { .stop_at = 1 };

	CFI_FDE(&b, cfi_put_cie(&b, ABSPTR), START, 16, 0x44, 0x0e, 16, 0x44, 0x0e, 24);
	assert_int_equal(replay(&b, &seen), 7);
	assert_int_equal(seen.n, 1);
}

struct encoding {
	uint8_t enc;
	uint8_t bytes[8];
	size_t len;
	uint64_t base;
	uint64_t want;
};

static void reads_code_addresses_in_every_encoding(void **state)
{
	static const struct encoding all[] = {
		{ 0x00, { 0x78, 0x56, 0x34, 0x12, 1 }, 8, 0, 0x112345678 },
		{ 0x01, { 0x80, 0x20 }, 2, 0, 0x1000 },
		{ 0x02, { 0xff, 0xff }, 2, 0, 0xffff },
		{ 0x03, { 0xff, 0xff, 0xff, 0xff }, 4, 0, 0xffffffff },
		{ 0x04, { 1, 0, 0, 0, 1 }, 8, 0, 0x100000001 },
		{ 0x09, { 0x80, 0x60 }, 2, 0, (uint64_t)-0x1000 },
		{ 0x0a, { 0xfe, 0xff }, 2, 0, (uint64_t)-2 },
		{ 0x0b, { 0xfe, 0xff, 0xff, 0xff }, 4, 0, (uint64_t)-2 },
		{ 0x0c, { 1, 0, 0, 0, 1 }, 8, 0, 0x100000001 },
		{ 0x1b, { 0x00, 0xf0, 0xff, 0xff }, 4, SECTION_VADDR, SECTION_VADDR - 0x1000 },
		{ 0x23, { 0x10 }, 4, TEXT, TEXT + 0x10 },
		{ 0x33, { 0x10 }, 4, DATA, DATA + 0x10 },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		_cleanup_(eh_frame_fini) struct eh_frame ef = { 0 };
		struct cfi_bytes b = { 0 };
		uint32_t cie = cfi_put_cie(&b, all[i].enc);
		uint64_t field;

		cfi_begin(&b);
		cfi_put_u32(&b, (uint32_t)b.len - cie);
		field = b.len;
		cfi_put(&b, all[i].bytes, all[i].len);
		CFI_PUT(&b, 32, 0, 0, 0, 0, 0, 0, 0, 0);
		cfi_end(&b);
		assert_int_equal(read_bytes(&ef, &b), 0);
		assert_int_equal(ef.fdes.len, 1);
		assert_int_equal(ef.fdes.data[0].len, 32);
		assert_true(ef.fdes.data[0].start ==
			    all[i].want + (all[i].base == SECTION_VADDR ? field : 0));
	}
}

static void refuses_addresses_that_it_cannot_know(void **state)
{
	static const uint8_t encodings[] = { 0x80, 0x9b, 0xff, 0x05, 0x40, 0x50 };

	for (size_t i = 0; i < sizeof(encodings); i++) {
		_cleanup_(eh_frame_fini) struct eh_frame ef = { 0 };
		struct cfi_bytes b = { 0 };

		CFI_FDE(&b, cfi_put_cie(&b, encodings[i]), START, 16, NOP);
		assert_int_equal(read_bytes(&ef, &b), -EBADMSG);
		assert_int_equal(ef.fdes.len, 0);
	}
}

static void reads_every_cie_version_and_augmentation(void **state)
{
	static const struct {
		uint8_t bytes[32];
		size_t len;
		bool good, signal, z;
	} all[] = {
		{ { 1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1 }, 10, true, false, false },
		{ { 3, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1 }, 10, true, false, false },
		{ { 4, 0, 8, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1 }, 12, true, false, false },
		{ { 1, 'e', 'h', 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1 },
		  20,
		  true,
		  false,
		  false },
		{ { 1,    'z', 'P', 'L', 'R', 'S',  'B', 0,    1, 0x78, 16,   7,
		    0x9b, 1,   2,   3,   4,   0x1b, 0,   0x0c, 7, 8,    0x90, 1 },
		  24,
		  true,
		  true,
		  true },
		{ { 1, 'z', 'R', 'Q', 0, 1, 0x78, 16, 3, 0, 9, 9, 0x0c, 7, 8, 0x90, 1 },
		  17,
		  true,
		  false,
		  true },
		{ { 2, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1 }, 10, false, false, false },
		{ { 4, 0, 4, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1 }, 12, false, false, false },
		{ { 1, 'Q', 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1 }, 11, false, false, false },
		{ { 1, 'z', 'R', 0, 1, 0x78, 16, 99, 0, 0x0c, 7, 8 }, 12, false, false, true },
		{ { 1, 'z', 'R', 'n', 'o', 'e', 'n', 'd' }, 8, false, false, true },
		{ { 1, 0, 1, 0x78, 16, 0x0b }, 6, false, false, false },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		_cleanup_(eh_frame_fini) struct eh_frame ef = { 0 };
		struct cfi_bytes b = { 0 };
		struct seen seen = { 0 };
		int r;

		cfi_begin(&b);
		cfi_put_u32(&b, 0);
		cfi_put(&b, all[i].bytes, all[i].len);
		cfi_end(&b);
		cfi_begin(&b);
		cfi_put_u32(&b, (uint32_t)b.len);
		cfi_put_u64(&b, START);
		cfi_put_u64(&b, 16);
		if (all[i].z)
			CFI_PUT(&b, 2, 0xaa, 0xbb);
		CFI_PUT(&b, 0x41);
		cfi_end(&b);
		r = read_bytes(&ef, &b);
		assert_int_equal(r, all[i].good ? 0 : -EBADMSG);
		assert_int_equal(ef.fdes.len, all[i].good);
		if (!all[i].good)
			continue;
		assert_int_equal(eh_frame_is_signal(&ef, &ef.fdes.data[0]), all[i].signal);
		assert_int_equal(eh_frame_run(&ef, &ef.fdes.data[0], see, &seen, NULL), 0);
		assert_value(seen.state[0].cfa, CFI_REGISTER, 7, 8);
		assert_value(seen.state[0].col[CFI_RA], CFI_OFFSET, 0, -8);
	}
}

/* A CIE and a function in .debug_frame, whose ids are as long as the format's offsets. */
static void put_debug_frame(struct cfi_bytes *b, bool is64)
{
	for (int is_fde = 0; is_fde < 2; is_fde++) {
		uint32_t len = is_fde ? 17 : 10;

		if (is64)
			cfi_put_u32(b, UINT32_MAX);
		is64 ? cfi_put_u64(b, len + 8) : cfi_put_u32(b, len + 4);
		is64 ? cfi_put_u64(b, is_fde ? 0 : UINT64_MAX)
		     : cfi_put_u32(b, is_fde ? 0 : UINT32_MAX);
		if (is_fde) {
			cfi_put_u64(b, START);
			cfi_put_u64(b, 16);
			CFI_PUT(b, 0x41);
		} else {
			CFI_PUT(b, 3, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1);
		}
	}
}

static void reads_debug_frame_of_both_widths(void **state)
{
	for (int is64 = 0; is64 < 2; is64++) {
		_cleanup_(eh_frame_fini) struct eh_frame ef = { 0 };
		struct eh_frame_source src;
		struct cfi_bytes b = { 0 };

		put_debug_frame(&b, is64);
		src = source_of(&b);
		src.debug_frame = true;
		assert_int_equal(eh_frame_read(&ef, &src, NULL), 0);
		assert_int_equal(ef.fdes.len, 1);
		assert_int_equal(ef.fdes.data[0].start, START);
		assert_int_equal(ef.fdes.data[0].len, 16);
	}
}

static void omits_functions_without_code(void **state)
{
	_cleanup_(eh_frame_fini) struct eh_frame ef = { 0 };
	struct cfi_bytes b = { 0 };
	uint32_t cie = cfi_put_cie(&b, ABSPTR);

	CFI_FDE(&b, cie, 0, 16, NOP);
	CFI_FDE(&b, cie, START, 0, NOP);
	CFI_FDE(&b, cie, START, 16, NOP);
	assert_int_equal(read_bytes(&ef, &b), 0);
	assert_int_equal(ef.fdes.len, 1);
}

static void continues_after_a_terminator_only_inside_a_section(void **state)
{
	for (int open_ended = 0; open_ended < 2; open_ended++) {
		_cleanup_(eh_frame_fini) struct eh_frame ef = { 0 };
		struct eh_frame_source src;
		struct cfi_bytes b = { 0 };
		uint32_t cie = cfi_put_cie(&b, ABSPTR);

		CFI_FDE(&b, cie, START, 16, NOP);
		cfi_put_u32(&b, 0);
		CFI_FDE(&b, cie, START + 16, 16, NOP);
		src = source_of(&b);
		src.open_ended = open_ended;
		assert_int_equal(eh_frame_read(&ef, &src, NULL), 0);
		assert_int_equal(ef.fdes.len, open_ended ? 1 : 2);
	}
}

static void keeps_the_rows_before_a_malformed_entry(void **state)
{
	_cleanup_(eh_frame_fini) struct eh_frame ef = { 0 };
	struct eh_frame_source src;
	struct err err = { 0 };
	struct cfi_bytes b = { 0 };
	uint32_t cie = cfi_put_cie(&b, ABSPTR);

	CFI_FDE(&b, cie, START, 16, NOP);
	cfi_put_u32(&b, 0x7fffffff);
	src = source_of(&b);
	assert_int_equal(eh_frame_read(&ef, &src, &err), -EBADMSG);
	assert_non_null(strstr(err.msg, "exceeds its section"));
	assert_int_equal(ef.fdes.len, 1);
}

static void skips_functions_without_a_valid_cie(void **state)
{
	_cleanup_(eh_frame_fini) struct eh_frame ef = { 0 };
	struct cfi_bytes b = { 0 };
	uint32_t cie = cfi_put_cie(&b, ABSPTR);
	uint32_t fde = (uint32_t)b.len;

	CFI_FDE(&b, cie, START, 16, NOP);
	CFI_FDE(&b, fde, START + 16, 16, NOP);         /* the CIE is a function */
	CFI_FDE(&b, 0x80000000u, START + 32, 16, NOP); /* the CIE is outside */
	CFI_FDE(&b, cie, START + 48, 16, NOP);
	assert_int_equal(read_bytes(&ef, &b), -EBADMSG);
	assert_int_equal(ef.fdes.len, 2);
	assert_int_equal(ef.fdes.data[1].start, START + 48);
}

/* A file with a search table of two functions, at 0x1000 and 0x1040, of 16 bytes each. */
struct searched {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[2];
	struct {
		uint8_t form[4];
		int32_t frame;
		uint32_t count;
		int32_t entries[2][2];
	} hdr;
	struct {
		uint32_t len, cie;
		int32_t start;
		uint32_t code_len;
	} fdes[2];
};

static struct searched two_functions(void)
{
	static const int32_t starts[] = { 0x1000, 0x1040 };
	const int32_t hdr = offsetof(struct searched, hdr), fdes = offsetof(struct searched, fdes);
	struct searched f = {
		.eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_phoff = offsetof(struct searched, ph),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 2 },
		.ph = { { .p_type = PT_LOAD,
			  .p_filesz = sizeof(struct searched),
			  .p_memsz = sizeof(struct searched) },
			{ .p_type = PT_GNU_EH_FRAME,
			  .p_offset = (Elf64_Off)hdr,
			  .p_vaddr = (Elf64_Addr)hdr,
			  .p_filesz = sizeof(f.hdr) } },
		.hdr = { .form = { 1, 0x1b, 0x03, 0x3b }, .count = 2 },
	};

	for (int i = 0; i < 2; i++) {
		int32_t at = fdes + i * (int32_t)sizeof(f.fdes[0]);

		f.hdr.entries[i][0] = starts[i] - hdr;
		f.hdr.entries[i][1] = at - hdr;
		f.fdes[i].start = starts[i] - at - 8;
		f.fdes[i].code_len = 16;
	}
	return f;
}

/* Returns the start of the function that contains @vaddr, or -errno. */
static int64_t search(const struct searched *f, uint64_t vaddr)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	struct eh_frame_around a;

	assert_int_equal(elf_image_from_memory(&img, f, sizeof(*f), NULL), 0);
	if (eh_frame_functions_around(img, vaddr, &a) < 0 || !a.is_function)
		return -ENOENT;
	return (int64_t)a.lo;
}

static void finds_a_functions_beginning_by_the_search_table(void **state)
{
	const struct searched f = two_functions();

	assert_int_equal(search(&f, 0x1000), 0x1000);
	assert_int_equal(search(&f, 0x100f), 0x1000);
	assert_int_equal(search(&f, 0x1010), -ENOENT);
	assert_int_equal(search(&f, 0x104f), 0x1040);
	assert_int_equal(search(&f, 0xfff), -ENOENT);
	assert_int_equal(search(&f, 0x1050), -ENOENT);
}

static void finds_the_neighbors_of_code_without_a_function(void **state)
{
	const struct searched f = two_functions();
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	struct eh_frame_around a;

	assert_int_equal(elf_image_from_memory(&img, &f, sizeof(f), NULL), 0);
	assert_int_equal(eh_frame_functions_around(img, 0x1020, &a), 0);
	assert_false(a.is_function);
	assert_int_equal(a.lo, 0x1010);
	assert_int_equal(a.hi, 0x1040);
	assert_int_equal(eh_frame_functions_around(img, 0x2000, &a), 0);
	assert_int_equal(a.lo, 0x1050);
	assert_true(a.hi == UINT64_MAX);
}

static void a_function_with_an_unreadable_fde_begins_by_the_search_table(void **state)
{
	struct searched f = two_functions();
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	struct eh_frame_around a;

	f.hdr.entries[0][1] = INT32_MAX;
	assert_int_equal(elf_image_from_memory(&img, &f, sizeof(f), NULL), 0);
	assert_int_equal(eh_frame_functions_around(img, 0x1008, &a), 0);
	assert_false(a.is_function);
	assert_int_equal(a.lo, 0x1000);
	assert_int_equal(a.hi, 0x1040);
}

static void a_false_search_table_finds_nothing(void **state)
{
	struct searched f = two_functions();

	f.hdr.count = UINT32_MAX;
	assert_int_equal(search(&f, 0x104f), 0x1040);
	f.hdr.entries[1][1] = INT32_MAX;
	assert_int_equal(search(&f, 0x104f), -ENOENT);
	f = two_functions();
	f.fdes[0].start++;
	assert_int_equal(search(&f, 0x1000), -ENOENT);
	f = two_functions();
	f.hdr.form[3] = 0x1b;
	assert_int_equal(search(&f, 0x1000), -ENOENT);
	f = two_functions();
	f.ph[1].p_type = PT_NOTE;
	assert_int_equal(search(&f, 0x1000), -ENOENT);
	f = two_functions();
	f.ph[1].p_filesz = 7;
	assert_int_equal(search(&f, 0x1000), -ENOENT);
}

TEST_GROUP_OF_X86_64(
	test_eh_frame, TEST(advances_by_every_instruction), TEST(keeps_the_rules_of_four_registers),
	TEST(follows_every_definition_of_the_cfa),
	TEST(returns_from_an_expression_with_the_last_offset),
	TEST(marks_numbers_that_no_real_code_uses), TEST(nests_remembered_states),
	TEST(ends_at_a_malformed_instruction), TEST(refuses_states_nested_too_deep),
	TEST(produces_no_row_past_the_functions_end), TEST(the_callback_can_stop_the_replay),
	TEST(reads_code_addresses_in_every_encoding), TEST(refuses_addresses_that_it_cannot_know),
	TEST(reads_every_cie_version_and_augmentation), TEST(reads_debug_frame_of_both_widths),
	TEST(omits_functions_without_code),
	TEST(continues_after_a_terminator_only_inside_a_section),
	TEST(keeps_the_rows_before_a_malformed_entry), TEST(skips_functions_without_a_valid_cie),
	TEST(finds_a_functions_beginning_by_the_search_table),
	TEST(finds_the_neighbors_of_code_without_a_function),
	TEST(a_function_with_an_unreadable_fde_begins_by_the_search_table),
	TEST(a_false_search_table_finds_nothing))
