/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Functions whose memory the walk copied into a record of its own (struct function_record in
 * bpf/shared/abi.h) when it first met them. A language's read() reads such a copy in the same way
 * as the process, so a function has a name even if it, or its process, is gone before the stack is
 * processed.
 */
#include <stdbool.h>
#include <stddef.h>

struct function_record;
struct lang_process;
struct langs;

/*
 * Returns true if a record of @len bytes contains everything that its fields announce. The contents
 * of the ranges are untrusted.
 */
bool lang_copy_is_valid(const struct function_record *rec, size_t len);

/*
 * Reads the function of a valid record into the registry, unless it is known. If the copy lacks a
 * part, the function is read from the process @p instead, if it is still there.
 */
void langs_add_copy(struct langs *l, const struct lang_process *p,
		    const struct function_record *rec);
