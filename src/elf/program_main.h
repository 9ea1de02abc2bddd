/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds main() in programs without symbols. The start-up code of C libraries, which the linker adds
 * to each program, passes its address to __libc_start_main().
 */
#include <stdint.h>

struct elf_image;

/*
 * Returns the address of main() of @img, or 0 if its entry point is not the start-up code of glibc
 * or musl, on x86-64 or arm64, in a form that is known.
 */
uint64_t elf_program_main(const struct elf_image *img);
