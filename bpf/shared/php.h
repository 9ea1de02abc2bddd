/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/* One PHP: addresses as linked, offsets that differ between versions. */
#ifndef CAMEO_BPF
#include <linux/types.h>
#endif

/* Where executor_globals are. */
enum php_globals {
	PHP_GLOBALS_LINKED, /* where the file has them */
	PHP_GLOBALS_SLOT, /* at the address that stands at an address: a program may have its own */
	PHP_GLOBALS_TLS,  /* with thread safety: at a thread's pointer, so far from its base */
	PHP_GLOBALS_TLS_SLOT, /* the same; how far stands at an address */
};

struct php_vm {
	__u64 current;       /* of the pointer to the running call: address; else in globals */
	__u64 globals;       /* address of their slot, or of what is added to a thread's pointer */
	__s64 tls;           /* offset or address */
	__u16 func_filename; /* the first and the last line follow it */
	__u16 version;       /* 8.2: 802 */
	__u8 generator_call; /* in a generator */
	__u8 generator_node; /* bytes from its node, where its delegate is, to its own call */
	__u8 globals_kind;   /* enum php_globals */
	__u8 is_indirect;    /* with thread safety: where that is stands at globals */
};

/* The same in PHP 7.3 to 8.5. */
enum {
	PHP_CALL_OPLINE = 0,
	PHP_CALL_FUNC = 24,
	PHP_CALL_THIS = 32,
	PHP_CALL_INFO = 40,
	PHP_CALL_PREV = 48,
	PHP_CALL_BYTES = 56,
	PHP_CALL_TOP = 1 << 17, /* the loop was entered with this call */
	PHP_CALL_OBJECT = 8,    /* the type of This */
	PHP_OBJECT_CLASS = 16,
	PHP_GENERATOR_BYTES_MAX = 512,
	PHP_FUNC_NAME = 8,
	PHP_FUNC_SCOPE = 16,
	PHP_FUNC_BYTES = 24,
	PHP_OPLINE_LINE = 24,
	PHP_OPLINE_BYTES = 32,
	PHP_INTERNAL = 1, /* of a function: written in C; user code is 2, of eval() 4 */
};

/*
 * What a function's cookie is made of: the addresses of its name, which functions share, and of
 * its class, and user code's file name's, and its lines. Closures are copies of one function, and
 * soon gone; this stays.
 */
#define PHP_HEAD_BYTES(name, scope) ((name) ^ (scope) << 20 ^ (scope) >> 44)
#define PHP_COOKIE_BYTES(name, scope, file, lines)                                                 \
	(PHP_HEAD_BYTES(name, scope) ^ (file) << 16 ^ (lines) << 40 ^ (lines) >> 24)
