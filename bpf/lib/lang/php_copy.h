/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/* Copies the memory that names a function of PHP: its words, name, class and file. */
#include "bpf/lib/copy.h"

/* Copies a zend_string. */
WALK_FN int php_copy_string(__u32 which, __u64 at)
{
	__u64 len = at ? copy_word(at + PHP_STRING_LEN) : COPY_TEXT_MAX + 1;

	return len > COPY_TEXT_MAX ? -1 : copy_range(which, at, PHP_STRING_TEXT + (__u32)len);
}

WALK_FN int php_copy(__u32 which, __u32 vm, __u64 addr)
{
	const struct php_vm *php = php_get(vm);
	__u64 scope;

	if (!php || copy_range(which, addr, PHP_FUNC_BYTES))
		return WALK_OTHER;
	(void)php_copy_string(which, copy_word(addr + PHP_FUNC_NAME));
	scope = copy_word(addr + PHP_FUNC_SCOPE);
	if (scope) {
		(void)copy_range(which, scope + PHP_CLASS_NAME, sizeof(__u64));
		(void)php_copy_string(which, copy_word(scope + PHP_CLASS_NAME));
	}
	if ((copy_word(addr) & 0xff) == PHP_INTERNAL)
		return WALK_CONTINUE;
	(void)copy_range(which, addr + php->func_filename, 2 * sizeof(__u64));
	(void)php_copy_string(which, copy_word(addr + php->func_filename));
	return WALK_CONTINUE;
}
