/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * The layout of one HotSpot: offsets in its structures. All of them are read from a process that
 * runs it (gHotSpotVMStructs); two entries of the same file differ in options of the process.
 */
#ifndef CAMEO_BPF
#include <linux/types.h>
#endif

/* The meaning of the value of a field that is a place in the code. */
enum jvm_base {
	JVM_VALUE,     /* a number, or an absolute address */
	JVM_FROM_BLOB, /* offset from the blob's start */
	JVM_FROM_CODE, /* offset from the start of its code */
	/* offset in the memory that belongs to a compiled method, from JDK 23 and 25 on */
	JVM_FROM_IMMUTABLE,
	JVM_FROM_MUTABLE,
};

struct jvm_field {
	__u16 off;
	__u8 width; /* bytes; 0 if this version has no such field */
	__u8 base;  /* enum jvm_base */
};

enum {
	JVM_BLOB_BYTES = 512, /* bytes of a blob's head that are read at most */
	JVM_PLACE_NONE = 0x3fffff,
	JVM_STUB_IN_HEAP = 1 << 20, /* the stub stands for frames that are in the Java heap */
	JVM_SYMBOLS_MAX = 16,
	JVM_SEGMENT_FREE = 0xff, /* in the segment map: no blob is here */
};

/*
 * The object to which the first word of a frame refers (VM_FRAME_SLOT), and the meaning of its
 * place.
 */
enum jvm_object {
	JVM_METHOD,        /* interpreted: the Method; place: index of the byte code */
	JVM_COMPILED,      /* a compiled method; place: offset of a return address */
	JVM_COMPILED_LEAF, /* the same; place: offset of the running instruction */
	JVM_STUB,          /* another blob; place: offset in its code, and JVM_STUB_IN_HEAP */
};

/*
 * The parts of generated code that the agent registers (MAPPING_LANG_KIND). In each, file_off plus
 * (pc >> shift) is the address of the segment map's entry for pc, and shift is MAPPING_LANG_DATA().
 */
enum jvm_part {
	JVM_PART_CODE,        /* a code heap: compiled methods and stubs */
	JVM_PART_INTERPRETER, /* the interpreter's routines for byte codes */
	JVM_PART_ENTRY,       /* where the interpreter makes frames */
};
#define JVM_MAPPING_SHIFT(file) (MAPPING_LANG_DATA(file) & 31)

/* How references to objects are encoded. */
enum jvm_reference {
	JVM_REF_PLAIN,
	JVM_REF_NARROW, /* compressed: 4 bytes, shifted, relative to a base */
	JVM_REF_COLORED,
};

/* The blob that a pc was found in last. */
struct jvm_blob_slot {
	__u64 pc, blob_at;
	__u32 pid;
	__u32 cookie; /* fingerprint of the blob's content at that time */
};

/* The class of a method, as the walk at time_ns read it. */
struct jvm_class_slot {
	__u64 at, time_ns;
	__u32 pid;
	__u32 hash;
};

enum { JVM_BLOBS_CACHED = 512, JVM_CLASSES_CACHED = 64 };

struct jvm_walk {
	__u64 frame_bytes; /* size of the frame that is being left, and JVM_RBP_KEPT */
	__u64 blob_at;     /* address of the blob whose head is in blob; 0: none */
	__u64 blob[JVM_BLOB_BYTES / 8];
	/* frames of a virtual thread that lie in the Java heap, in chunks */
	__u64 chunk;        /* the chunk reached last; 0: none yet */
	__u64 chunk_end;    /* its end while the walk is in it; else 0 */
	__u64 chunk_return; /* rsp where the walk left the thread's own stack */
	/* these live from sample to sample */
	struct jvm_blob_slot blobs[JVM_BLOBS_CACHED];
	struct jvm_class_slot classes[JVM_CLASSES_CACHED];
};

struct jvm_vm {
	/* used by the walk */
	__u16 blob_bytes;   /* bytes of a blob's head that contain all of these fields */
	__u16 block_bytes;  /* bytes before a blob */
	__u16 nmethod_size; /* header_size by which a compiled method is recognized */
	__u16 method_const; /* offset of a Method's pointer to its constant part (ConstMethod) */
	__u16 const_bytes;  /* size of ConstMethod, after which the byte code is */
	__u16 frame_bcp;    /* distance of an interpreted frame's byte code pointer below rbp */
	struct jvm_field name, header_size, frame_size, frame_complete, code, entry;
	struct jvm_field method, compile_id, orig_pc, deopt[2];
	/* frames of virtual threads in the heap: fields of Continuation and StackChunk */
	__u16 tail, chunk_parent, chunk_size, chunk_sp, chunk_pc;
	__u16 chunk_bottom; /* end of its used part; in 21 the number of unused words there */
	__u16 chunk_args;   /* chunk_bottom has the meaning of 21 */
	__u16 chunk_stack;  /* bytes before its stack; 0 if this version has no chunks */
	__u16 ref_kind;     /* enum jvm_reference */
	__u16 ref_shift;
	__u16 symbol_hash; /* two bytes of a Symbol that change when it is reused */
	__u16 pad_ref;
	__u64 ref_base;
	__u64 entry_pc; /* virtual address in the file of the variable with the return
			   address into Continuation.enterSpecial(); 0: unknown */
	/* used only by the symbolizer */
	struct jvm_field scopes_data, scopes_pcs, pcs_end, metadata, metadata_end;
	struct jvm_field immutable_data, mutable_data;
	__u16 pool_bytes, pool_holder, pool_source, pool_length;
	__u16 klass_name, klass_source;
	__u16 const_pool, const_flags, const_flags_bytes, const_size, code_size;
	__u16 name_index, signature_index;
	__u16 symbol_length, symbol_body;
	__u16 has_lines; /* bit of const_flags: the method has a line table */
	__u8 zero_free;  /* numbers are packed without zero bytes: from 20 on */
	__u8 block_used; /* offset before a blob of a byte that is not 0 if the blob is in use; 0 if
			    unknown */
	__u32 file_vm; /* in the layout of a process: entry of its file, with the symbols; else 0 */
	/*
	 * addresses as linked of the tables that libjvm exports, indexed by JVM_SYMBOL_*
	 * (src/lang/jvm/jvm.h)
	 */
	__u64 symbols[JVM_SYMBOLS_MAX];
};
