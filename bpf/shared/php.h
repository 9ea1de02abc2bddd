/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/* The layout of one PHP: addresses as linked, and offsets that differ between versions. */
#ifndef CAMEO_BPF
#include <linux/types.h>
#endif

/* Where executor_globals is. */
enum php_globals {
	PHP_GLOBALS_LINKED, /* at an address in the file */
	PHP_GLOBALS_SLOT, /* at the address that a variable holds, as a program may have its own */
	PHP_GLOBALS_TLS,  /* with thread safety: at a thread's pointer, at a fixed offset from its
			     base */
	PHP_GLOBALS_TLS_SLOT, /* the same, with the offset in a variable */
};

struct php_vm {
	__u64 current; /* of the pointer to the running call: an address, or an offset in globals */
	__u64 globals; /* address of the variable, or of the number that is added to a thread's
			  pointer */
	__s64 tls;     /* offset or address */
	__u16 func_filename; /* offset of the file name; the first and the last line follow it */
	__u16 version;       /* 8.2: 802 */
	__u8 generator_call; /* offset of its call in a generator */
	__u8 generator_node; /* bytes from a generator's node, where its delegate is, to its own
				call */
	__u8 globals_kind;   /* enum php_globals */
	__u8 is_indirect;    /* with thread safety: globals holds the address */
};

/* Offsets that are the same in PHP 7.3 to 8.5. */
enum {
	PHP_CALL_OPLINE = 0,
	PHP_CALL_FUNC = 24,
	PHP_CALL_THIS = 32,
	PHP_CALL_INFO = 40,
	PHP_CALL_PREV = 48,
	PHP_CALL_BYTES = 56,
	PHP_CALL_TOP = 1 << 17, /* the loop was entered with this call */
	PHP_CALL_OBJECT = 8,    /* in the type of This */
	PHP_OBJECT_CLASS = 16,
	PHP_GENERATOR_BYTES_MAX = 512,
	PHP_FUNC_NAME = 8,
	PHP_FUNC_SCOPE = 16,
	PHP_FUNC_BYTES = 24,
	PHP_STRING_LEN = 16, /* in a zend_string */
	PHP_STRING_TEXT = 24,
	PHP_CLASS_NAME = 8, /* in a zend_class_entry */
	PHP_OPLINE_LINE = 24,
	PHP_OPLINE_BYTES = 32,
	PHP_INTERNAL =
		1, /* type of a function written in C; that of user code is 2, that of eval() 4 */
};

/*
 * A function's cookie is made of the addresses of its name, which functions share, and of its
 * class, and for user code of its file name and its lines. Closures are copies of one function that
 * do not live long; these words are the same in each copy.
 */
#define PHP_HEAD_BYTES(name, scope) ((name) ^ (scope) << 20 ^ (scope) >> 44)
#define PHP_COOKIE_BYTES(name, scope, file, lines)                                                 \
	(PHP_HEAD_BYTES(name, scope) ^ (file) << 16 ^ (lines) << 40 ^ (lines) >> 24)

struct php_walk {
	__u64 generator, node; /* the generator that delegates; offset of its node */
	__u64 n_waiting;       /* generators that wait for it and have not been passed yet */
};
