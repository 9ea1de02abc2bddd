/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Names of functions in languages of the Lua family. Functions have no names there: a function is
 * named as its caller names it, else after its file and line.
 *
 * @r is the result of reading the caller's name into out->name: 0, -ENOENT if there is none, or
 * another -errno. The functions return 0 or -ENOMEM.
 */
#include <stdint.h>

struct lang_function;

/* Makes a file name of the source in place: "@dir/file.lua" is a file; other code has none. */
void by_caller_file(char *source);

/*
 * Completes the name of a function that begins at @line of out->file: <FILE:LINE> if the caller has
 * none. Line 0 stands for a file's own code, which is <FILE> and has no other name.
 */
int by_caller_name(int r, uint32_t line, struct lang_function *out);

/* Completes the name of a function written in C, whose address does not lead to a name. */
int by_caller_c(int r, struct lang_function *out);
