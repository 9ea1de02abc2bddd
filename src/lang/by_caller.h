/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Names of functions in languages of the Lua family. Functions have no names there: a function gets
 * the name by which its caller calls it, else one made of its file and line. Callers may use
 * different names; of some callers' names, the least doubtful one is used, whichever was sampled
 * first. The name of a parameter is not used, because it stands for any function that is passed.
 *
 * @r is the result of reading the caller's name into out->name: an enum by_caller, -ENOENT if there
 * is none, -ENODATA if it is a parameter, or another -errno. The functions return 0 or -ENOMEM.
 */
#include <stdint.h>

struct lang_function;

/* Kinds of names that callers use; a greater value is more doubtful. */
enum by_caller {
	BY_GLOBAL,
	BY_FIELD, /* also a method, or a variable of an outer function */
	BY_LOCAL, /* often a copy of a value that has another name elsewhere */
	BY_LOCATION,
};

/* Returns @grade if @r is 0, which means that a name was read, else @r. */
static inline int by_caller_grade(enum by_caller grade, int r)
{
	return r < 0 ? r : (int)grade;
}

/* Makes a file name of the source in place: "@dir/file.lua" is a file; other code has none. */
void by_caller_file(char *source);

/*
 * Completes the name of a function that begins at @line of out->file: <FILE:LINE> if the caller has
 * none. Line 0 stands for a file's own code, which is <FILE> and has no other name.
 */
int by_caller_name(int r, uint32_t line, struct lang_function *out);

/* Completes the name of a function written in C, whose address does not lead to a name. */
int by_caller_c(int r, struct lang_function *out);
