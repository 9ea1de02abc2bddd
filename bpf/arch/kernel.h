/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * The registers of a thread as the kernel stores them: the registers at an event, and those that
 * were saved when the thread entered the kernel. Only BPF programs use this, through bpf/vmlinux.h.
 * Each folder of bpf/arch defines:
 *
 * struct user_regs        the registers of an event or a uprobe
 * struct saved_regs       those on the kernel stack: user_regs as its member user, and more
 * struct pt_regs          the same by CO-RE: sp, and ARCH_SYSCALL with the number of the system
 *                         call
 * struct thread_struct    ARCH_THREAD_POINTER is the way from the task to its thread pointer
 * regs_copy(to, regs)     copies the registers into DWARF's order
 * regs_mode(regs)         the word that shows the mode of the code that they are of
 * mode_is_kernel(mode)    it is the kernel's
 * mode_is_32bit(mode)     it is that of a 32-bit program
 * regs_sp(regs)           a pointer to the stack pointer
 * regs_arg0(regs), regs_arg1(regs), regs_arg2(regs)
 *                         the first arguments, at the entry of a function
 * regs_result(regs)       the result, at its return
 * regs_pc(regs)           the address of the instruction
 * regs_link(regs)         the return address, if a call leaves it in a register
 * ARCH_RETURN_BYTES       bytes of the return address that a call pushes; 0: it pushes none
 *
 * saved_by_trap(saved)    the thread entered the kernel by a trap after which pc is
 * saved_syscall(saved)    the number of the system call
 * fault_of_present(error) the page fault with this error code is due to the page's protection
 * fault_of_write(error)   it is due to a write
 * NR_EXECVE, NR_EXECVEAT
 * RED_ZONE                bytes below sp that a function may use
 * KERNEL_STACK_BYTES, SAVED_REGS_BYTES
 *                         size of the kernel stack, at the top of which saved_regs begin that many
 *                         bytes below; used before Linux 5.15, where no helper finds them
 */
#if defined(__TARGET_ARCH_x86)
#include "bpf/arch/x86_64/kernel.h"
#elif defined(__TARGET_ARCH_arm64)
#include "bpf/arch/arm64/kernel.h"
#else
#error "this processor has no folder in bpf/arch"
#endif
