/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/* The layout of one Perl: addresses as linked, and offsets that differ between versions. */
#ifndef CAMEO_BPF
#include <linux/types.h>
#endif

struct perl_vm {
	__u64 interpreter; /* address of the pointer to the first interpreter; 0 if built without
			      threads */
	__u64 curcop, curstackinfo; /* offsets in an interpreter; without threads, addresses */
	__u16 version;              /* 5.36: 36 */
	__u8 aux_is_behind_array;   /* the extra part of a hash is after its array */
	__u8 info_type;             /* offset of the type in a stack's description (PERL_SI) */
	__u8 context_bytes, context_cv;
	__u16 pad;
};

/* Offsets that are the same in Perl 5.30 to 5.42. */
enum {
	PERL_INFO_CONTEXTS = 8, /* in a stack's description */
	PERL_INFO_PREV = 16,
	PERL_INFO_TOP = 32, /* index of the innermost context */
	PERL_INFO_BYTES = 48,
	PERL_INFO_MAIN = 1,
	PERL_INFO_REQUIRE = 9, /* the type of a stack on which BEGIN {} runs */
	PERL_CONTEXT_BYTES_MAX = 104,
	PERL_CONTEXT_COP = 16, /* the statement that entered it */
	PERL_CONTEXT_RETURN = 48,
	PERL_TYPE_MASK = 15,
	PERL_TYPE_SORT_BLOCK = 0,
	PERL_TYPE_SUB = 9,
	PERL_SUB_REGEX = 0x80, /* code in a regular expression: no sub, though it has a CV */
	PERL_TYPE_EVAL = 11,
	PERL_EVAL_BLOCK = 0xc0, /* eval {} and try {} are not code of their own */
	PERL_COP_LINE = 36,
	PERL_COP_FILE = 48,
	PERL_GLOB_NAME =
		32, /* in a body: a glob's name; in such names, where the file name begins */
	PERL_GLOB_FILE = 10,
	PERL_GLOB_STASH = 40, /* in a body as well */
	PERL_GLOB_BYTES = 48,
	PERL_GP_EGV = 56,
	PERL_BODY = 0,     /* in a value: the address of its body */
	PERL_VALUE_U = 16, /* in a value: sv_u */
	PERL_VALUE_BYTES = 24,
	PERL_CV_STASH = 32, /* in the body of a CV */
	PERL_CV_FLAGS = 92,
	PERL_CV_NAMED = 0x8000, /* flag: PERL_CV_NAME is a HEK, not a glob */
	PERL_CV_BYTES = 96,
	PERL_CV_WORDS = 6, /* words from PERL_CV_ROOT on that are read */
	PERL_HV_MAX = 24,  /* in the body of a hash */
	PERL_HV_BYTES = 32,
	PERL_AUX_NAME = 0, /* in the extra part of a hash */
	PERL_AUX_NAMES =
		28, /* number of names; 0: PERL_AUX_NAME is the name, not an array of them */
	PERL_AUX_BYTES = 32,
	PERL_HEK_LEN = 4, /* in a hash entry key, Perl's form of shared names */
	PERL_HEK_TEXT = 8,
	PERL_CV_ROOT = 48, /* in a body: its code, its name or glob, its file name */
	PERL_CV_NAME = 56,
	PERL_CV_FILE = 64,
};

/* The kind of object of an address, in its low bits. */
enum {
	PERL_SUB = 0,
	PERL_FILE = 1, /* code of a file */
	PERL_SORT = 2, /* a block of sort or of a regular expression */
	PERL_REGEX = 3,
	PERL_BEGIN = 4, /* a sub that is freed once it has run */
	PERL_KIND_MASK = 7,
};

/*
 * The fields that cookies are made of. Closures are copies of one sub, and code that eval()
 * compiles does not live long, so an address does not identify a sub. These fields are equal in all
 * copies of a sub and differ for other code: the PERL_CV_WORDS words from PERL_CV_ROOT on, which
 * are its code, its name, its file name, and CvOUTSIDE_SEQ, which grows with each block that is
 * compiled.
 */
#define PERL_SUB_BYTES(cv)                                                                         \
	((cv)[0] ^ (cv)[1] << 16 ^ (cv)[2] << 32 ^ (cv)[2] >> 32 ^ ((cv)[5] & 0xffffffff) << 28)
#define PERL_FILE_BYTES(kind, file, text0, text1)                                                  \
	(PERL_IS_EVALUATED(text0)                                                                  \
		 ? (__u64)(kind) << 56 | 1                                                         \
		 : ((file) ^ (text0) ^ ((text1) << 24 | (text1) >> 40) ^ (__u64)(kind) << 56))

/*
 * Evaluated code has a number in its file name, "(eval 17)". All of it is one function: a program
 * that evaluates in a loop would have thousands, gone before their names could be read.
 */
#define PERL_IS_EVALUATED(text0) (((text0)&0xffffffffffffULL) == 0x206c61766528ULL)

struct perl_walk {
	__u64 stack;         /* the current PERL_SI */
	__u64 first_context; /* of that stack, the outermost */
	__u64 cop;           /* the statement that was reached */
	__u32 stack_type;    /* PERL_INFO_MAIN, ... */
	__u32 pad;
};
