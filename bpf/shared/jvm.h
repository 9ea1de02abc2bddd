/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * One HotSpot: where its structures have what. All of it is read from a
 * process that runs it (gHotSpotVMStructs); what is here twice differs.
 */
#ifndef CAMEO_BPF
#include <linux/types.h>
#endif

/* What a field holds, when it is a place in the code. */
enum jvm_base {
	JVM_VALUE,     /* a number, or an address as it is */
	JVM_FROM_BLOB, /* an offset from the blob's start */
	JVM_FROM_CODE, /* an offset from its code */
	/* an offset in the memory that goes with a compiled method, from 23 and 25 on */
	JVM_FROM_IMMUTABLE,
	JVM_FROM_MUTABLE,
};

struct jvm_field {
	__u16 off;
	__u8 width; /* 0: this version has no such field */
	__u8 base;  /* enum jvm_base */
};

enum {
	JVM_BLOB_BYTES = 512, /* as much of a blob's start is read at most */
	JVM_PLACE_NONE = 0x3fffff,
	JVM_STUB_IN_HEAP = 1 << 20, /* it stands for frames that are not on the stack */
	JVM_SYMBOLS_MAX = 16,
	JVM_SEGMENT_FREE = 0xff, /* in the segment map: no blob is there */
};

/* What the first word of a frame refers to (VM_FRAME_SLOT), and what its place is. */
enum jvm_object {
	JVM_METHOD,        /* interpreted: the method, index of the byte code */
	JVM_COMPILED,      /* a compiled method, offset of a return address */
	JVM_COMPILED_LEAF, /* the same, offset of the instruction that ran */
	JVM_STUB,          /* another blob, offset in its code, and JVM_STUB_IN_HEAP */
};

/* Which layout describes a mapping's code, and the size of its segments: unwind_mapping.file. */
#define JVM_MAPPING_FILE(vm, shift) ((__u32)(vm) | (__u32)(shift) << 16)
#define JVM_MAPPING_VM(file)        ((file)&0xffff)
#define JVM_MAPPING_SHIFT(file)     ((file) >> 16 & 31)

/* How a reference to an object is written. */
enum jvm_reference {
	JVM_REF_PLAIN,
	JVM_REF_NARROW, /* four bytes, to be shifted, from a base */
	JVM_REF_COLORED,
};

struct jvm_vm {
	/* what the walk needs */
	__u16 blob_bytes;   /* of a blob's start, all of these fields */
	__u16 block_bytes;  /* in front of a blob */
	__u16 nmethod_size; /* header_size of a compiled method */
	__u16 method_const; /* pointer to the constant part of a method */
	__u16 const_bytes;  /* the byte code lies behind it */
	__u16 frame_bcp;    /* bytes below an interpreted frame's rbp: where the byte code's address
			       is */
	struct jvm_field name, header_size, frame_size, frame_complete, code, entry;
	struct jvm_field method, compile_id, orig_pc, deopt[2];
	/* frames of virtual threads in the heap: fields of Continuation and StackChunk */
	__u16 tail, chunk_parent, chunk_size, chunk_sp, chunk_pc;
	__u16 chunk_bottom; /* its used part's end; of 21, the unused words there */
	__u16 chunk_args;   /* is it so? */
	__u16 chunk_stack;  /* in front of its stack; 0: there are no chunks */
	__u16 ref_kind;     /* enum jvm_reference */
	__u16 ref_shift;
	__u16 symbol_hash; /* two bytes of a Symbol that another one in its place has not */
	__u16 pad_ref;
	__u64 ref_base;
	/* what only the reader of names needs */
	struct jvm_field scopes_data, scopes_pcs, pcs_end, metadata, metadata_end;
	struct jvm_field immutable_data, mutable_data;
	__u16 pool_bytes, pool_holder, pool_source, pool_length;
	__u16 klass_name, klass_source;
	__u16 const_pool, const_flags, const_flags_bytes, const_size, code_size;
	__u16 name_index, signature_index;
	__u16 symbol_length, symbol_body;
	__u16 has_lines; /* bit of const_flags */
	__u8 zero_free;  /* from 20 on, numbers are packed without zero bytes */
	__u8 block_used; /* of what is in front of a blob: not zero when there is one; 0: not known
			  */
	__u32 file_vm; /* the entry that has the symbols, of whose layouts this is one; 0: no layout
			*/
	/* addresses as linked, of what libjvm says of itself (src/lang/jvm/structs.h) */
	__u64 symbols[JVM_SYMBOLS_MAX];
};
