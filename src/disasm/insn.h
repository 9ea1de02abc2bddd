/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* An instruction of a disassembled function, and the limits of functions. */
#include <stdbool.h>
#include <stdint.h>

enum {
	DISASM_TEXT_MAX = 111,      /* bytes of an instruction's text; longer texts are truncated */
	DISASM_CODE_MAX = 16,       /* bytes of an instruction */
	DISASM_BYTES_MAX = 1 << 20, /* bytes of a function; the rest is left out */
	DISASM_INSNS_MAX = 1 << 18,
};

struct disasm_insn {
	uint64_t addr;   /* as linked */
	uint64_t target; /* of a direct jump or call; 0: it is none */
	uint8_t len;     /* in bytes: 1 to DISASM_CODE_MAX */
	bool is_call;
	uint8_t code[DISASM_CODE_MAX];
	char text[DISASM_TEXT_MAX + 1]; /* AT&T syntax on x86-64; printable ASCII */
};
