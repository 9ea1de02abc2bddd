/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Copies the memory that names a code object of CPython: its words, name, file, line table and
 * type.
 */
#include "bpf/lib/copy.h"

/* Copies a string with its head and the zero at its end. */
WALK_FN int python_copy_string(__u32 which, __u32 vm, __u64 at)
{
	const struct python_vm *py = python_get(vm);
	__u64 length, state, width;

	if (!py || !at)
		return -1;
	length = copy_word(at + py->object);
	state = copy_word(at + py->object + PYTHON_STRING_STATE) >> (py->kind_shift & 31);
	width = state & PYTHON_STRING_KIND;
	if (length > COPY_TEXT_MAX)
		return -1;
	return copy_range(which, at, (__u32)(python_text_at(py, state) + (length + 1) * width));
}

/* Copies a bytes object. */
WALK_FN int python_copy_bytes(__u32 which, __u32 vm, __u64 at)
{
	const struct python_vm *py = python_get(vm);
	__u64 len;

	if (!py || !at)
		return -1;
	len = copy_word(at + py->object);
	if (len > FUNCTION_RANGE_BYTES)
		return -1;
	return copy_range(which, at, py->object + PYTHON_BYTES_DATA + (__u32)len);
}

/* Copies the name of a type, as far as it is compared with that of code objects. */
WALK_FN int python_copy_type(__u32 which, __u32 vm, __u64 at)
{
	const struct python_vm *py = python_get(vm);
	__u64 name_at;

	if (!py)
		return -1;
	name_at = at + py->object + PYTHON_TYPE_NAME;
	(void)copy_range(which, name_at, sizeof(__u64));
	return copy_range(which, copy_word(name_at), sizeof("code"));
}

WALK_FN int python_copy(__u32 which, __u32 vm, __u64 addr)
{
	const struct python_vm *py = python_get(vm);

	if (!py || py->code_lines > PYTHON_CODE_MAX ||
	    copy_range(which, addr, (__u32)py->code_lines + 8))
		return WALK_OTHER;
	(void)python_copy_type(which, vm, copy_word(addr + py->object - 8));
	(void)python_copy_string(which, vm, copy_word(addr + python_name_at(py)));
	(void)python_copy_string(which, vm, copy_word(addr + py->code_filename));
	(void)python_copy_bytes(which, vm, copy_word(addr + py->code_lines));
	return WALK_CONTINUE;
}
