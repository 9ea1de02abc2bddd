/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * The layout of one V8: offsets in its objects (v8_fields.def), and where its embedded code is. All
 * of it is known from the file; a process only adds where that is mapped.
 *
 * A JavaScript frame is two words among the native ones (bpf/shared/vm.h), in one of these forms.
 * V8's pointers are tagged (odd); addresses here are those of the objects, without the tag.
 *
 *  V8_BYTECODE  run by its byte code, or at an unknown place: the address of the
 *               SharedFunctionInfo; place: offset in the BytecodeArray's data, or
 *               V8_PLACE_NONE; cookie: vm_cookie() of the SharedFunctionInfo's
 *               word at shared_name.
 *  V8_CODE      run as machine code compiled from it: the address is the pc. The second
 *               word's payload is V8_CODE_WORD's; the SharedFunctionInfo is that of the
 *               frame, 0 if the frame does not exist yet or any more.
 *  V8_BUILTIN   code in V8's file that is not a function of the program: the address is the
 *               offset in it; place: V8_PLACE_NONE; cookie: 1.
 *  V8_STUB      generated code whose frame has a type (WebAssembly, a regular
 *               expression): the address is the pc. The second word is V8_STUB_WORD's: the
 *               WebAssembly instance or 0, and the type, V8_TYPE_NONE or
 *               V8_TYPE_COLLECTOR.
 *
 * A pc is where the frame's code continues: for callers, a return address.
 */
#ifndef CAMEO_BPF
#include <linux/types.h>
#endif

enum v8_object { V8_BYTECODE, V8_CODE, V8_BUILTIN, V8_STUB };

enum {
	V8_PLACE_NONE = 0xffffff,
	V8_TYPE_NONE = 0x7ff,
	V8_TYPE_COLLECTOR = 0x7fe, /* garbage is being collected by the functions that follow */
	V8_ABSENT = -1,            /* a field that this version does not have */
};

/*
 * The second word of V8_CODE: a SharedFunctionInfo >> 3, whether the frame is the leaf, and the
 * upper bits of the function's cookie.
 */
#define V8_CODE_WORD(shared, leaf, cookie) V8_STUB_WORD(shared, leaf, (cookie) >> 21)
/*
 * The second word of V8_STUB: an object >> 3, whether the frame is the leaf, and the frame's type.
 */
#define V8_STUB_WORD(object, leaf, type)                                                           \
	FRAME_WORD(FRAME_VM_PLACE, ((__u64)(object) >> 3 & V8_SHARED_MASK) | (__u64)(leaf) << 44 | \
					   (__u64)((type)&V8_TYPE_NONE) << 45)
#define V8_SHARED_MASK     ((1ULL << 44) - 1)
#define V8_CODE_SHARED(w)  (((w)&V8_SHARED_MASK) << 3)
#define V8_CODE_IS_LEAF(w) ((w) >> 44 & 1)
#define V8_CODE_COOKIE(w)  ((__u32)((w) >> 45 & 0x7ff)) /* the cookie >> 21 */
#define V8_STUB_TYPE(w)    V8_CODE_COOKIE(w)

struct v8_fields {
#define X(field, symbols) __s32 field;
#include "bpf/shared/v8_fields.def"
#undef X
};

struct v8_vm {
	__u64 blob_lo, blob_hi; /* file offsets of the embedded code */
	/* addresses as linked; 0 if unknown */
	__u64 blob_code, blob_data; /* of the embedded code and of its description */
	__u32 blob_code_bytes, blob_data_bytes;
	__u64 builtin_names;  /* array of {char *name; ...}, in the order of builtins */
	__u64 bytecode_sizes; /* one byte per byte code, for each width of operands */
	__u16 major, minor, build, patch;
	struct v8_fields f;
	__u32 bytecode_sizes_bytes;
};

struct v8_walk {
	__u32 vm; /* table entry of the current frame */
	__u32 pad;
	__u64 embedded;    /* offset of the pc in V8's file, plus 1; 0: the code is generated */
	__u64 interpreter; /* the return address last recognized as the interpreter's; 0: none */
	__u64 function;    /* tagged; 0: not a function's frame, or not known */
	__u64 type;        /* of a frame without a function, else V8_PLACE_NONE */
	__u64 instance;    /* of WebAssembly, tagged; 0: none */
	__u64 ra, sp, rbp; /* of the caller */
	/* the function pushed last, tagged; its SharedFunctionInfo and the cookie of that */
	__u64 last, shared;
	__u32 cookie;
	__u32 pad2;
};
