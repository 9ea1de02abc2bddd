/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/* arm64: x0-x30, sp and pc with the numbers of DWARF (AADWARF64, 4.1). */
enum {
	UREG_LR = 30, /* x30: the return address, until a function saves it */
	UREG_COUNT = 33,

	UREG_PC = 32,
	UREG_SP = 31,
	UREG_FP = 29,
	UREG_AUX = 19, /* the first callee-saved register */
	UREG_RA = UREG_LR,
	UREG_EH_DATA = 0, /* the first register that an exception handler receives */
	UREG_EH_SP = 255, /* none: GCC adds to sp instead */
	UREG_MASK = 31,
};

#define UREG_SP_NAME  "sp"
#define UREG_FP_NAME  "x29"
#define UREG_AUX_NAME "x19"
