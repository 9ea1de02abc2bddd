/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The coroutines of Boost.Context, whose functions in assembly are also part of PHP. */
struct elf_image;
struct unwind_special_code;

/* Adds the functions where coroutines' stacks begin and those that switch stacks, on x86-64. */
void unwind_fcontext_find(struct unwind_special_code *k, const struct elf_image *img);
