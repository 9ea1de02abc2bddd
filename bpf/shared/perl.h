/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/* One Perl: addresses as linked, offsets that differ between versions. */
#ifndef CAMEO_BPF
#include <linux/types.h>
#endif

struct perl_vm {
	__u64 interpreter; /* address of the pointer to the first one; 0: built without threads */
	__u64 curcop, curstackinfo; /* in an interpreter; without threads, addresses */
	__u16 version;              /* 5.36: 36 */
	__u8 aux_is_behind_array;   /* what a hash has more of: where */
	__u8 info_type;             /* in a stack's description */
	__u8 context_bytes, context_cv;
	__u16 pad;
};

/* The same in Perl 5.30 to 5.42. */
enum {
	PERL_INFO_CONTEXTS = 8, /* of a stack's description */
	PERL_INFO_PREV = 16,
	PERL_INFO_TOP = 32, /* index of the innermost context */
	PERL_INFO_BYTES = 48,
	PERL_INFO_MAIN = 1,
	PERL_INFO_REQUIRE = 9, /* of a stack that BEGIN {} runs on */
	PERL_CONTEXT_BYTES_MAX = 104,
	PERL_CONTEXT_COP = 16, /* where it was entered from */
	PERL_CONTEXT_RETURN = 48,
	PERL_TYPE_MASK = 15,
	PERL_TYPE_SORT_BLOCK = 0,
	PERL_TYPE_SUB = 9,
	PERL_SUB_REGEX =
		0x80, /* code in a regular expression: no sub of its own, though it has a CV */
	PERL_TYPE_EVAL = 11,
	PERL_EVAL_BLOCK = 0xc0, /* eval {} and try {} are no code of their own */
	PERL_COP_LINE = 36,
	PERL_COP_FILE = 48,
	PERL_GLOB_NAME = 32, /* of a body: a glob's name, and where in such names a file's begins */
	PERL_GLOB_FILE = 10,
	PERL_BODY = 0,     /* of a value: address of its body */
	PERL_CV_ROOT = 48, /* of a body: its code, its name or glob, its file's name */
	PERL_CV_NAME = 56,
	PERL_CV_FILE = 64,
};

/* What an address is of, in its low bits. */
enum {
	PERL_SUB = 0,
	PERL_FILE = 1, /* a file's code */
	PERL_SORT = 2, /* a block of sort, of a regex */
	PERL_REGEX = 3,
	PERL_BEGIN = 4, /* a sub that is freed when it has run */
	PERL_KIND_MASK = 7,
};

/*
 * What cookies are made of. Closures are copies of one sub, and what eval()
 * compiles is soon gone; these stay, or are others for other code.
 */
#define PERL_SUB_BYTES(root, name, file) ((root) ^ (name) << 16 ^ (file) << 32 ^ (file) >> 32)
#define PERL_FILE_BYTES(kind, file, text0, text1)                                                  \
	(PERL_IS_EVALUATED(text0)                                                                  \
		 ? (__u64)(kind) << 56 | 1                                                         \
		 : ((file) ^ (text0) ^ ((text1) << 24 | (text1) >> 40) ^ (__u64)(kind) << 56))

/*
 * What is evaluated has a number for its file's name, "(eval 17)". All is one function: a program
 * that evaluates in a loop would have thousands, gone before anybody could read their names.
 */
#define PERL_IS_EVALUATED(text0) (((text0)&0xffffffffffffULL) == 0x206c61766528ULL)
