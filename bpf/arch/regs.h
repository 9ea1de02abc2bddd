/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * The registers of the processor that the tree is built for. The walk knows four by what they are
 * for: UREG_PC, UREG_SP, UREG_FP (frame pointer) and UREG_AUX (one more callee-saved register that
 * rules of real code need). All registers have the numbers that DWARF has for them.
 *
 * UREG_RA is the number of the return address in CFI. If it is at most UREG_MASK, it is a register,
 * which holds the return address until the function saves it.
 *
 * BPF programs are compiled for no processor, so bpf/meson.build passes libbpf's macro.
 */
#if defined(__TARGET_ARCH_x86) || (!defined(CAMEO_BPF) && defined(__x86_64__))
#include "bpf/arch/x86_64/regs.h"
#elif defined(__TARGET_ARCH_arm64) || (!defined(CAMEO_BPF) && defined(__aarch64__))
#include "bpf/arch/arm64/regs.h"
#else
#error "this processor has no folder in bpf/arch"
#endif
