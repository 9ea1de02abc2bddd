/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads OpenTelemetry's process context (OTEP 4719): a header at the start of a mapping, which
 * refers to a protobuf message, of which only the names of the keys of thread contexts are read.
 * The bytes are untrusted and may change while they are read; a reader process calls this.
 */
#include <stddef.h>
#include <stdint.h>

#include "lang/context/labels.h"

struct lang_process;

enum { PROCESS_CONTEXT_BYTES_MAX = 64 << 10 /* of the message */ };

/* The reply of a reader. No pointers: it is sent unchanged. */
struct process_context {
	int32_t result; /* 0; -EAGAIN: it is being written; -ENOENT: there is none; -EBADMSG */
	uint32_t reserved;
	struct context_names names;
};

/* Reads the context whose header is at @at. */
void process_context_read(const struct lang_process *p, uint64_t at, struct process_context *out);

/* Parses the message. Return: 0; -EBADMSG, after which *@out may hold a part. */
int process_context_parse(const uint8_t *data, size_t len, struct context_names *out);

/* Return: 0; -EBADMSG if a reader that works as intended would not send this. */
int process_context_check(const struct process_context *c);
