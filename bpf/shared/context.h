/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * The context of a sample: the trace and span that the thread works on, and other labels, which the
 * program publishes in its memory. For each file (executable or library) that can publish a
 * context, the agent finds a layout; for each process, the address at which the file is mapped.
 */
#ifndef CAMEO_BPF
#include <linux/types.h>
#endif

enum context_kind {
	CONTEXT_NONE,
#define X(sym, name) CONTEXT_##sym,
#include "bpf/shared/contexts.def"
#undef X
	CONTEXT_MAX,
};

/* How the address of a thread-local variable is found. */
enum context_tls {
	CONTEXT_TLS_OFFSET, /* at is the offset from the thread pointer (initial or local exec) */
	CONTEXT_TLS_GOT_OFFSET, /* the word at "at" of the file is that offset */
	CONTEXT_TLS_GOT_INDEX,  /* two words there are module and offset: by the thread's DTV */
	/*
	 * Two words there are a resolver and its argument (TLSDESC): the offset, which is negative,
	 * or the address of module and offset.
	 */
	CONTEXT_TLS_GOT_DESCRIPTOR,
	CONTEXT_TLS_MAX,
};

enum {
	CONTEXT_LAYOUTS_MAX = 256, /* a power of two; index 0 stands for none */
	CONTEXT_SLOTS_MAX = 2,     /* publishing files in one process */
	CONTEXT_KEY_BYTES = 24,
	CONTEXT_VALUE_BYTES = 64,
	CONTEXT_LABELS_MAX = 8,
	CONTEXT_OTEL_HEAD = 28, /* bytes before the attributes of a record of OpenTelemetry */
	CONTEXT_OTEL_ATTRIBUTES = 612, /* bytes of them that are read */
	CONTEXT_TLS_MODULES_MAX = 4096,
};

/* Value of the table of layouts. */
struct context_layout {
	__u8 kind;    /* enum context_kind */
	__u8 tls;     /* enum context_tls */
	__u8 is_musl; /* the DTV has slots of one word */
	__u8 is_list; /* CONTEXT_GOLANG: the labels are a slice (Go 1.24), not a map */
	__u32 g_m, m_curg, g_labels; /* CONTEXT_GOLANG: offsets of g.m, m.curg and g.labels */
	__s64 at; /* offset from the thread pointer, or address as linked of words in the file */
};
_Static_assert(sizeof(struct context_layout) == 24, "sent by readers: no padding");

/* A file in a process that publishes: its layout (16 bits) above its load bias (48 bits). */
#define CONTEXT_SLOT(layout, bias) ((__u64)(layout) << 48 | ((__u64)(bias) & ((1ULL << 48) - 1)))
#define CONTEXT_SLOT_LAYOUT(slot)  ((__u32)((slot) >> 48))
#define CONTEXT_SLOT_BIAS(slot)    ((slot) & ((1ULL << 48) - 1))

/* A label whose text was read; it is not terminated. */
struct context_label {
	__u8 key_len, value_len;
	__u8 reserved[6];
	char key[CONTEXT_KEY_BYTES];
	char value[CONTEXT_VALUE_BYTES];
};

/* A record of OpenTelemetry's thread context as it was read. */
struct context_otel {
	__u8 trace_id[16], span_id[8];
	__u8 valid, flags;
	__u8 attributes_len[2]; /* as in the process, little-endian; not all may be read */
	__u8 attributes[CONTEXT_OTEL_ATTRIBUTES];
};

/* Follows the words of a record whose head has n_context: the first @len bytes of the data. */
struct context {
	__u8 kind;
	__u8 slot;      /* of the process */
	__u8 n_dropped; /* labels that are missing or truncated: too many, too long or unreadable */
	__u8 reserved;
	__u32 len;
	union {
		struct context_otel otel;
		struct context_label labels[CONTEXT_LABELS_MAX];
	};
};
enum { CONTEXT_WORDS_MAX = sizeof(struct context) / 8 };
_Static_assert(sizeof(struct context) % 8 == 0, "sent in words");
_Static_assert(CONTEXT_WORDS_MAX <= 255, "n_context is a byte");
