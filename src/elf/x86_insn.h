/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Decodes x86-64 machine code as far as unwinding needs it: lengths, branches and changes of the
 * stack pointer.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum x86_kind {
	X86_OTHER,        /* changes neither rsp, rbp nor the flow of control */
	X86_PUSH,         /* reg, or X86_NO_REG */
	X86_POP,          /* the same */
	X86_RSP_ADD,      /* rsp += value */
	X86_RSP_FROM_RBP, /* rsp = rbp + value */
	X86_RBP_FROM_RSP, /* rbp = rsp + value */
	X86_REG_FROM_RSP, /* reg = rsp */
	X86_RSP_FROM_REG, /* rsp = reg, which is not rbp */
	X86_RSP_ALIGN,    /* some low bits of rsp are cleared */
	X86_RSP_LOAD,     /* rsp = *(rsp + value) */
	X86_STORE,        /* *(rsp + value) = reg */
	X86_RSP_LOST,     /* rsp gets an unknown value */
	X86_RBP_LOST,
	X86_LEAVE,
	X86_RET,
	X86_CALL, /* target: the end of this instruction + value */
	X86_CALL_INDIRECT,
	X86_JUMP, /* the same */
	X86_JUMP_IF,
	X86_JUMP_INDIRECT,
	X86_TRAP, /* the code after it is not reached */
};

enum { X86_LEN_MAX = 15, X86_NO_REG = 0xff, X86_RBX = 3, X86_RSP = 4, X86_RBP = 5 };

struct x86_insn {
	uint8_t len;
	uint8_t kind; /* enum x86_kind */
	uint8_t reg;  /* the processor's number, not DWARF's */
	int32_t value;
};

/*
 * Decodes the instruction at the start of @code, which has @len bytes. Returns false if there is
 * none or it is truncated. Some undefined opcodes are accepted.
 */
bool x86_decode(const uint8_t *code, size_t len, struct x86_insn *out);

/* Returns the register of jmp *%reg, an instruction of @len bytes; X86_NO_REG for other ones. */
uint8_t x86_jump_register(const uint8_t *code, size_t len);
/* Returns the register that add %reg,%reg of 64 bits changes; X86_NO_REG for other instructions. */
uint8_t x86_sum_register(const uint8_t *code, size_t len);
