/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layouts of Lua 5.1 to 5.5 on 64-bit machines. Releases that differ from later ones of their
 * version (5.2.0, 5.3.0, 5.3.1, 5.4.0 and 5.4.1) are in no distribution and not supported.
 */
#include <stddef.h>

#include "lang/lua/lua.h"

/* The bit @bit of the field at @offset, in the word that contains the field. */
#define IN_WORD(offset, bit) ((__u64)(bit) << ((offset)&7) * 8)

/* The words of a prototype from offset @from up to @to, exclusively. */
#define WORDS(from, to) ((1u << (to) / 8) - (1u << (from) / 8))

static const struct {
	uint32_t first_release; /* 5.2.1: 1 */
	struct lua_vm vm;
} layouts[] = {
	{ 0,
	  { .version = 501,
	    .state_call = 40,
	    .state_pc = 48,
	    .state_calls = 80,
	    .call_func = 8,
	    .call_pc = 24,
	    .call_bytes = 40,
	    .closure_c = 10,
	    .closure_code = 32,
	    .proto_type = 9,
	    .proto_constants = 16,
	    .proto_code = 24,
	    .proto_lines = 40,
	    .proto_locals = 48,
	    .proto_upvalues = 56,
	    .proto_source = 64,
	    .proto_n_constants = 76,
	    .proto_n_code = 80,
	    .proto_n_lines = 84,
	    .proto_n_locals = 92,
	    .proto_line = 96,
	    .proto_fixed = WORDS(16, 104),
	    .line_bytes = 4,
	    .upvalue_bytes = 8 } },
	{ 1,
	  { .version = 502,
	    .call_flip = IN_WORD(34, 1 << 0 | 1 << 2),
	    .call_c = IN_WORD(34, 1 << 0),
	    .call_fresh = IN_WORD(34, 1 << 2),
	    .state_call = 32,
	    .call_status = 32,
	    .call_pc = 56,
	    .call_bytes = 80,
	    .closure_code = 24,
	    .proto_type = 9,
	    .proto_constants = 16,
	    .proto_code = 24,
	    .proto_lines = 40,
	    .proto_locals = 48,
	    .proto_upvalues = 56,
	    .proto_source = 72,
	    .proto_n_constants = 84,
	    .proto_n_code = 88,
	    .proto_n_lines = 92,
	    .proto_n_locals = 100,
	    .proto_line = 104,
	    .proto_fixed = WORDS(16, 64) | WORDS(72, 112),
	    .line_bytes = 4,
	    .upvalue_bytes = 16 } },
	{ 2,
	  { .version = 503,
	    .call_flip = IN_WORD(66, 1 << 1),
	    .call_c = IN_WORD(66, 1 << 1),
	    .call_fresh = IN_WORD(66, 1 << 3),
	    .state_call = 32,
	    .call_status = 64,
	    .call_pc = 40,
	    .call_bytes = 72,
	    .closure_code = 24,
	    .proto_type = 9,
	    .proto_n_constants = 20,
	    .proto_n_code = 24,
	    .proto_n_lines = 28,
	    .proto_n_locals = 36,
	    .proto_line = 40,
	    .proto_constants = 48,
	    .proto_code = 56,
	    .proto_lines = 72,
	    .proto_locals = 80,
	    .proto_upvalues = 88,
	    .proto_source = 104,
	    .proto_fixed = WORDS(16, 96) | WORDS(104, 112),
	    .line_bytes = 4,
	    .upvalue_bytes = 16,
	    .string_short_len = 11 } },
#define FROM_5_4                                                                                   \
	.state_call = 32, .call_status = 56, .call_pc = 32, .call_bytes = 64, .closure_code = 24,  \
	.proto_type = 10, .proto_n_constants = 20, .proto_n_code = 24, .proto_n_lines = 28,        \
	.proto_n_locals = 36, .proto_n_marks = 40, .proto_line = 44, .proto_constants = 56,        \
	.proto_code = 64, .proto_upvalues = 80, .proto_lines = 88, .proto_marks = 96,              \
	.proto_locals = 104, .proto_source = 112, .proto_fixed = WORDS(16, 120), .line_bytes = 1,  \
	.upvalue_bytes = 16, .string_short_len = 11
	{ 2,
	  { .version = 504,
	    .call_c = IN_WORD(62, 1 << 1),
	    .call_fresh = IN_WORD(62, 1 << 2),
	    FROM_5_4 } },
	{ 0,
	  { .version = 505,
	    .call_c = IN_WORD(60, 1 << 15),
	    .call_fresh = IN_WORD(60, 1 << 16),
	    FROM_5_4,
	    .string_is_external = 1 } },
};

const struct lua_vm *lua_layout(uint32_t version, uint32_t release)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].vm.version == version)
			return release >= layouts[i].first_release ? &layouts[i].vm : NULL;
	return NULL;
}
