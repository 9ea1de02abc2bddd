/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * The layout of one BEAM with its JIT, the runtime of Erlang and Elixir. All of it is known from
 * the file; a process only adds where that is mapped. The names are those of OTP's source.
 *
 * A frame is two words among the native ones (bpf/shared/vm.h), in one of these forms:
 *
 *  BEAM_FUNCTION  the address of the function's ErtsCodeInfo; place: distance of the pc from it;
 *                 cookie: see beam_key().
 *  BEAM_STUB      code of the runtime that belongs to no module; address and place are 0; cookie:
 *                 1.
 */
#ifndef CAMEO_BPF
#include <linux/types.h>
#endif

enum beam_object { BEAM_FUNCTION, BEAM_STUB };

/* Offsets and sizes that are the same in all supported releases. */
enum {
	/* the modules of a generation, sorted by address: struct ranges */
	BEAM_GENERATIONS = 3,
	BEAM_RANGES_BYTES = 32, /* of a generation: modules, n, allocated, mid */
	BEAM_RANGE_BYTES = 16,  /* of a module: begin, end */
	BEAM_MODULES_MAX = 1 << 16,
	BEAM_FUNCTIONS_MAX = 1 << 16, /* of a module */
	/* BeamCodeHeader, with which a module begins; the functions end with one more address */
	BEAM_HEADER_LINES = 72,
	BEAM_HEADER_MD5 = 16, /* distance of the pointer to the MD5 sum below the functions */
	/* ErtsCodeInfo, which precedes the code of a function: module, function, arity */
	BEAM_INFO_MFA = 16,
	BEAM_ARITY_MAX = 255,
	/* an atom as a term: its number above these bits, which have this value */
	BEAM_ATOM_SHIFT = 6,
	BEAM_ATOM_TAG = 0xb,
};

struct beam_vm {
	/* addresses as linked */
	__u64 ranges;      /* the generations of modules */
	__u64 active;      /* number of the current generation, 32 bits */
	__u64 normal_exit; /* points to the code to which the outermost frame returns */
	__u64 atoms;       /* the table of atoms */
	__u64 thread_key;  /* the key, 32 bits, under which a thread stores its ErtsSchedulerData */
	__u16 release;
	__u16 functions; /* offset in a BeamCodeHeader */
	__u16 current;   /* offset in an ErtsSchedulerData of the Process that it runs */
	/*
	 * offsets in a Process: the top of its stack; the bounds of its heap and stack, two words
	 */
	__u16 stop, heap;
	__u16 pad[3];
};

static inline int beam_is_atom(__u64 term)
{
	return (term & ((1 << BEAM_ATOM_SHIFT) - 1)) == BEAM_ATOM_TAG;
}

/*
 * Mixes the properties that identify a function: its name, arity and module, and the first bytes of
 * the MD5 sum of the module's code, which differs between two versions of a module.
 */
static inline __u64 beam_key(const __u64 mfa[3], __u64 md5)
{
	return md5 ^ mfa[0] << 32 ^ mfa[1] ^ mfa[2] << 56;
}

struct beam_walk {
	__u64 modules;     /* of the current generation; sorted */
	__u64 begin, end;  /* bounds of their code */
	__u64 normal_exit; /* the code to which the outermost frame returns */
	__u32 n_modules;
	__u32 state;              /* enum beam_state */
	__u64 module, module_end; /* the module of the current frame */
	__u64 info; /* the function of the current frame: address of its ErtsCodeInfo */
	__u64 at;   /* the next word of the process's stack */
	__u32 cookie;
	__u32 pad;
};
