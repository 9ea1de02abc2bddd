/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/* x86-64: the registers in DWARF's order (System V psABI AMD64, figure 3.36). */
enum {
	UREG_RBX = 3,
	UREG_RBP = 6,
	UREG_RSP = 7,
	UREG_RIP = 16,
	UREG_COUNT = 17,

	UREG_PC = UREG_RIP,
	UREG_SP = UREG_RSP,
	UREG_FP = UREG_RBP,
	UREG_RA = UREG_RIP,
	UREG_AUX = UREG_RBX, /* the frame register of ld.so's lazy binding and of some assembly */
	UREG_EH_DATA = 0,    /* the first register that an exception handler receives: rax */
	UREG_EH_SP = 2,      /* the register in which GCC passes a handler's stack pointer: rcx */
	/* the highest register that a rule may refer to; also the mask that bounds such numbers */
	UREG_MASK = 15,
};

#define UREG_SP_NAME  "rsp"
#define UREG_FP_NAME  "rbp"
#define UREG_AUX_NAME "rbx"
