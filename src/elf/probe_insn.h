/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Chooses where in the beginning of an x86-64 function a uprobe costs least. The kernel emulates
 * some instructions (arch/x86/kernel/uprobes.c: push of a register, one-byte nop, direct jumps),
 * which takes 0.7 us; it executes others out of line with a single step, which takes more than
 * 10 us. Pure functions.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True if the code of files for @machine (e_machine) can be searched: x86-64. */
bool probe_insn_knows(uint16_t machine);

/*
 * Finds the first emulated instruction of the function whose code begins at @code (@len bytes, at
 * most up to its end), if each path reaches it with the stack pointer and the registers of the
 * first four arguments unchanged. Returns true and its offset in bytes; false if there is none.
 */
bool probe_insn_find(const uint8_t *code, size_t len, uint32_t *out_off);

/* @away is the distance in bytes from the beginning of a function to the target of a jump. */
typedef bool (*probe_insn_jump_fn)(void *ctx, int64_t away);

/*
 * Returns true if the function whose code is the @len bytes at @code only forwards its calls: it
 * never returns by itself or jumps to an unknown address, and @fn returns true for one of its jumps
 * to another function.
 */
bool probe_insn_forwards(const uint8_t *code, size_t len, probe_insn_jump_fn fn, void *ctx);
