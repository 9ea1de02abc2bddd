/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * One V8: where its objects have what (v8_fields.def), and where its embedded
 * code is. All of it is known from the file; a process adds where that is mapped.
 *
 * A frame of JavaScript is two words among the native ones (bpf/shared/vm.h), in one
 * of these forms. V8's pointers are odd: the addresses here are of the objects
 * themselves, that is, without the tag.
 *
 *   V8_BYTECODE  it ran by its byte code, or where is not known: the address of the
 *                SharedFunctionInfo; place: byte of the BytecodeArray's data, or
 *                V8_PLACE_NONE; cookie: vm_cookie() of the SharedFunctionInfo's
 *                word at shared_name.
 *   V8_CODE      it ran in machine code made of it: the address is the pc. The second
 *                word's payload: see V8_CODE_WORD; the SharedFunctionInfo is that of the
 *                frame, 0 where the frame is not made yet or gone already.
 *   V8_BUILTIN   code that is in V8's file, which is no function of the program's: the
 *                address is the offset in it; place: V8_PLACE_NONE; cookie: 1.
 *   V8_STUB      generated code whose frame is of a type (WebAssembly's, a regular
 *                expression's): the address is the pc. The second word is V8_CODE's: in the
 *                SharedFunctionInfo's place the instance of WebAssembly, 0 of others; in
 *                the cookie's the type, V8_TYPE_NONE or V8_TYPE_COLLECTOR.
 *
 * A pc is where the frame's code goes on: of callers, a return address.
 */
#ifndef CAMEO_BPF
#include <linux/types.h>
#endif

enum v8_object { V8_BYTECODE, V8_CODE, V8_BUILTIN, V8_STUB };

enum {
	V8_PLACE_NONE = 0xffffff,
	V8_TYPE_NONE = 0x7ff,
	V8_TYPE_COLLECTOR = 0x7fe, /* garbage is collected: what was called for that follows */
	V8_ABSENT = -1,            /* a field that this version does not have */
};

/* Second word of V8_CODE: a SharedFunctionInfo >> 3, is it the leaf, upper bits of its cookie. */
#define V8_CODE_WORD(shared, leaf, cookie) V8_STUB_WORD(shared, leaf, (cookie) >> 21)
/* Of V8_STUB: an object >> 3, is it the leaf, the frame's type. */
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
	__u64 blob_lo, blob_hi; /* embedded code, file offsets */
	/* addresses as linked; 0: not known */
	__u64 blob_code, blob_data; /* of the embedded code and of what describes it */
	__u32 blob_code_bytes, blob_data_bytes;
	__u64 builtin_names;  /* array of {char *name; ...}; in the order of builtins */
	__u64 bytecode_sizes; /* a byte for each byte code, once for each width of operands */
	__u16 major, minor, build, patch;
	struct v8_fields f;
	__u32 bytecode_sizes_bytes;
};
