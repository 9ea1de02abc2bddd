/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * The forms of the processor's code and frames. Everything here is a function of
 * values that the walk has read. Each folder of bpf/arch defines:
 *
 * arch_is_call(before)              a call ends with these eight bytes, as one little-endian word
 * arch_is_direct_call(before)       the same for calls whose target is in the code
 * arch_call_target(before, ra)      where a direct call that returns to ra leads
 * arch_trampoline_bytes(code, call) the bytes between sp and the return address in a trampoline at
 *                                   code, which is at the return from its call; -1: no trampoline
 * arch_jump_slot(code, at, &slot)   true if the 16 bytes of code at address at jump through the
 *                                   word at slot: an entry of a PLT
 * arch_signal_registers(regs, c)    registers from the ARCH_SIGNAL_WORDS words of a signal frame
 *                                   that begin ARCH_SIGNAL_AT bytes after its start
 * ARCH_SIGNAL_SP                    where sp is in a signal frame
 * arch_is_breakpoint(byte)          an instruction of one byte is a breakpoint
 * arch_is_behind_breakpoint(code, pc)
 *                                   pc is after one; code has the bytes before pc and at pc
 * arch_code_address(addr, mask)     a code address without what the processor stores in its upper
 *                                   bits; mask has the bits of addresses
 * arch_is_thread_id(id, tp)         pthread_self() of the thread with the thread pointer tp
 * ARCH_FP_HAS_SP                    the caller's sp is known where its frame was found by fp
 * ARCH_CALL_PUSHES                  a call pushes the return address, so all of them are on the
 *                                   stack just below the caller's frame
 */
#include "bpf/arch/regs.h"

#ifndef CAMEO_BPF
#include <linux/types.h>
#endif

#define ARCH_FN static inline __attribute__((always_inline))

/* Byte @i of the code in the words @code. */
ARCH_FN __u8 arch_byte(const __u64 *code, __u32 i)
{
	return code[i >> 3] >> ((i & 7) * 8);
}

#if defined(__TARGET_ARCH_x86) || (!defined(CAMEO_BPF) && defined(__x86_64__))
#include "bpf/arch/x86_64/code.h"
#elif defined(__TARGET_ARCH_arm64) || (!defined(CAMEO_BPF) && defined(__aarch64__))
#include "bpf/arch/arm64/code.h"
#endif
