/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What user space knows about the processor that the tree is built for; registers and the forms of
 * instructions that the walk reads are in bpf/arch. Each folder of src/arch defines:
 *
 * ARCH_ELF_MACHINE    e_machine of the files whose code this processor runs
 * ARCH_NAME           the processor's name in messages
 * ARCH_MULTIARCH      the folder of libraries below /lib (Debian's multiarch tuple)
 * ARCH_JUMP_SLOT, ARCH_GLOB_DAT
 *                     relocations of slots through which a PLT jumps
 * ARCH_READS_CODE     the code analysis (unwind/sweep.h) and the known pieces of code without CFI
 *                     exist for it
 * ARCH_HAS_LANGUAGES  the steps through the runtimes of src/lang exist for it
 * arch_code_mask()    the bits of a code address that are not used for a signature
 * arch_find_restorer(code, len, out_len)
 *                     the first system call rt_sigreturn in the code and the instruction that
 *                     loads its number, together *out_len bytes; NULL if there is none
 * arch_registers(u, out)
 *                     copies the registers of ptrace and of core files into DWARF's order
 * arch_thread_pointer(u)
 *                     the thread pointer; 0 if these registers do not include it
 * arch_user_registers(regs, thread_pointer, out)
 *                     the way back; registers that are not known are 0
 */
#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/user.h>

#include "bpf/arch/regs.h"

#if defined(__x86_64__)
#include "arch/x86_64/arch.h"
#elif defined(__aarch64__)
#include "arch/arm64/arch.h"
#else
#error "this processor has no folder in src/arch"
#endif
