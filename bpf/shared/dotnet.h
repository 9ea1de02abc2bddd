/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * The layout of one CoreCLR, the runtime of .NET. All of it is known from the file; a process only
 * adds where that is mapped.
 *
 * A frame is two words among the native ones (bpf/shared/vm.h), in one of these forms:
 *
 *  DOTNET_METHOD  compiled at run time: the address of the code; place: offset in the code, for a
 *                 caller of the last byte of the call; cookie: see dotnet_method_key().
 *  DOTNET_IMAGE   compiled before (ReadyToRun): the address where the function begins; place:
 *                 offset in it; cookie: vm_cookie() of that address.
 *  DOTNET_STUB    code of the runtime that belongs to no method: address and place are 0;
 * cookie: 1.
 */
#ifndef CAMEO_BPF
#include <linux/types.h>
#endif

enum dotnet_object { DOTNET_METHOD, DOTNET_IMAGE, DOTNET_STUB };

/*
 * Offsets that are the same in .NET 8, 9 and 10; the names are those of the runtime's source and of
 * the contract that .NET 10 exports for debuggers.
 */
enum {
	/* the map of code ranges: a tree of arrays, whose leaves are lists of fragments */
	DOTNET_MAP_LEVELS = 5,
	DOTNET_MAP_BITS = 8,   /* of an address for each level */
	DOTNET_LEAF_BITS = 17, /* of an address below the last level */
	/* RangeSectionFragment: next, begin, end, RangeSection */
	DOTNET_FRAGMENT_WORDS = 4,
	/* RangeSection, in words */
	DOTNET_RANGE_WORDS = 6,
	DOTNET_RANGE_FLAGS = 2,
	DOTNET_RANGE_MODULE = 4, /* of an image */
	DOTNET_RANGE_HEAP = 5,
	/* bits of DOTNET_RANGE_FLAGS */
	DOTNET_RANGE_CODE = 2,
	DOTNET_RANGE_STUBS = 4,
	/* CodeHeapListNode: the nibble map, and the address that its first nibble stands for */
	DOTNET_NODE_MAP_BASE = 32,
	/* the nibble map: 4 bits for 32 bytes of code, 8 in a word of 4 bytes, the highest first */
	DOTNET_NIBBLE_SHIFT = 5,
	DOTNET_NIBBLE_FAR = 9, /* from here on the word is the distance from the map's base */
	/*
	 * RealCodeHeader, whose address precedes the code: debug info, MethodDesc, number of
	 * functions, functions
	 */
	DOTNET_HEADER_DEBUG = 0,
	DOTNET_HEADER_METHOD = 24,
	DOTNET_HEADER_FUNCTIONS = 36,
	DOTNET_HEADER_KINDS = 0xf, /* up to here the word before the code is a kind of stub */
	/* RUNTIME_FUNCTION: begin, end and UNWIND_INFO, as distances from the range's begin */
	DOTNET_FUNCTION_BYTES = 12,
	/* ReadyToRunInfo: its functions and their number */
	DOTNET_READY_FUNCTIONS = 80,
	/* MethodDesc and MethodDescChunk */
	DOTNET_CHUNK_BYTES = 24,
	DOTNET_CHUNK_TOKEN_RANGE = 18,
	DOTNET_TABLE_MODULE = 24, /* of a MethodTable */
	DOTNET_TOKEN_BITS = 12,   /* of a token that are in the MethodDesc */
	DOTNET_KIND_MASK = 7,
	DOTNET_KIND_DYNAMIC = 7,
};

/* The parts of the first word of a MethodDesc. */
#define DOTNET_DESC_REMAINDER(d) ((__u32)(d) & ((1u << DOTNET_TOKEN_BITS) - 1))
#define DOTNET_DESC_CHUNK(d)     ((d) >> 16 & 0xff) /* distance from the chunk's first, in words */
#define DOTNET_DESC_KIND(d)      ((__u32)((d) >> 48) & DOTNET_KIND_MASK)

struct dotnet_vm {
	__u64 ranges; /* address as linked of the pointer to the map of code ranges */
	__u16 major, minor, patch;
	__u16 module_ready; /* offset in a Module of the pointer to its ReadyToRunInfo */
	__u16 dynamic_name; /* offset in a DynamicMethodDesc of the pointer to its name */
	/* used only by the symbolizer: offsets that lead from a Module to the PE image */
	__u16 module_base; /* 0 before .NET 9: then by way of the PEAssembly and its PEImage */
	__u16 module_assembly;
	__u16 image_layouts;
};

/*
 * Mixes the properties that identify a method whose MethodDesc begins with @desc: the MethodTable
 * of its chunk, the rest of its token, and the name of a dynamic method, which has no token.
 */
static inline __u64 dotnet_method_key(__u64 desc, __u64 table, __u64 name)
{
	return table ^ (__u64)DOTNET_DESC_REMAINDER(desc) << 48 ^ DOTNET_DESC_KIND(desc) ^
	       name << 8;
}

/*
 * The function in which a pc was found before. Code in a heap may have been replaced since: the
 * slot holds while the code has the same header, and that the same method with the same cookie.
 */
struct dotnet_slot {
	__u64 pc, base;
	__u64 header, method; /* of code in a heap; else 0 */
	__u32 pid;
	__u32 begin, unwind, code; /* distances from base */
	__u32 cookie, pad;
};

enum { DOTNET_SLOTS = 256 }; /* 14 KiB for each walk of each possible CPU */

struct dotnet_walk {
	__u64 ranges;      /* the map of code ranges; 0: not read in this walk yet */
	__u64 range, end;  /* the range that was found last */
	__u64 table;       /* the functions of an image, or the nibble map of a code heap */
	__u64 map_base;    /* what the nibble map's first nibble stands for */
	__u32 n_functions; /* of an image */
	__u32 kind;        /* bits of DOTNET_RANGE_FLAGS */
	__u32 word;        /* of the nibble map, that is looked at next */
	__u32 place;
	/* of the current frame */
	__u64 code;   /* where the code begins to which the nibble map led */
	__u64 begin;  /* where the function begins: one method may have several */
	__u64 unwind; /* address of its UNWIND_INFO */
	__u64 sp, base, rbp, rbx;
	__u32 offset; /* of the pc in the function: codes of later instructions do not apply yet */
	__u32 cookie;
	__u64 method; /* 0: a stub */
	/* these live from sample to sample */
	struct dotnet_slot slots[DOTNET_SLOTS];
};
