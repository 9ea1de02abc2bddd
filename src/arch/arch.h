/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Properties of the processor that the tree is built for, as far as only user space needs them;
 * registers and the forms of instructions that the walk reads are in bpf/arch. Each folder of
 * src/arch defines:
 *
 * ARCH_ELF_MACHINE    e_machine of the files whose code this processor runs
 * ARCH_NAME           the processor's name in messages
 * ARCH_GO_NAME        Go's name of it (GOARCH)
 * ARCH_MULTIARCH      the folder of libraries below /lib (Debian's multiarch tuple)
 * ARCH_JUMP_SLOT, ARCH_GLOB_DAT, ARCH_IRELATIVE
 *                     relocations of slots through which a PLT jumps
 * ARCH_READS_CODE     the code analysis (unwind/sweep.h) and the known pieces of code without CFI
 *                     exist for it
 * ARCH_HAS_LANGUAGES  the steps through all runtimes of src/lang exist for it; elsewhere there are
 *                     those that do not depend on the processor (struct lang's is_portable)
 * ARCH_TLS_DESCRIPTOR, ARCH_TLS_MODULE, ARCH_TLS_OFFSET
 *                     relocations of the words through which thread-local variables are found
 * ARCH_READS_CONTEXTS the layout of thread-local memory (bpf/lib/context/tls.h) and of Go's
 *                     goroutines are those that src/lang/context and the walk know
 * ARCH_CODE_ALIGN     every instruction begins at a multiple of this
 * ARCH_PLT_HEADER     bytes of .plt before its first stub; not always a multiple of a stub
 * ARCH_JUMP_BYTES, ARCH_CALL_BYTES, ARCH_SLOT_BYTES
 *                     bytes of code that the next three functions read
 * arch_is_jump(code, out_away)
 *                     a direct jump, also a conditional one, whose target is *out_away bytes
 *                     after its first byte
 * arch_is_call_to(code, out_away)
 *                     the same for a direct call
 * arch_is_lazy_plt(code)
 *                     the ARCH_PLT_HEADER bytes begin with the code of lazy binding
 * arch_is_jump_through(code, vaddr, out_slot)
 *                     code at vaddr that jumps through the word at *out_slot, or loads it to do so
 * ARCH_CONTEXT_END_MIN, ARCH_CONTEXT_END_MAX
 *                     bytes of the function in which stacks of glibc's makecontext() begin
 * arch_is_context_end(code, len)
 *                     the len bytes, as many as that, are this function
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
#include <stdbool.h>
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
