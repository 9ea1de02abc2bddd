/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The messages of READER_JIT, which finds the functions at addresses of generated code in a perf
 * map or jitdump. Functions come in PARTs, in any order; addresses without a function are missing.
 *
 * Pure functions: they do no I/O. Checks do not trust the bytes.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum jit_format { JIT_PERF_MAP = 1, JIT_DUMP };

enum { JIT_ADDRS_MAX = 4096 };

/* The body of a request: this and @n addresses of 8 bytes. */
struct jit_request {
	uint32_t format; /* enum jit_format */
	uint32_t n;      /* at most JIT_ADDRS_MAX */
	uint64_t from;   /* 0, or jit_reply.end of an earlier request for the same file */
	uint64_t end;    /* nothing from here on is read */
};

/*
 * The body of a reply. Its result is 0, also for a malformed file, whose functions up to there are
 * valid; -EAGAIN if the file must be read from 0; -ENOMEM.
 */
struct jit_reply {
	uint64_t end; /* where the first incomplete entry begins */
};

/* A function in a PART. */
struct jit_found {
	uint32_t index; /* of the address in the request */
	uint32_t line;  /* 0: unknown */
	const char *name, *file;
	size_t name_len, file_len; /* at most JIT_NAME_MAX; without NUL */
};

/* Returns the addresses of a request, aligned to 8, or NULL if the request is malformed. */
const uint64_t *jit_request_check(const void *data, size_t len);

/* Returns the bytes that jit_found_put() appends. */
size_t jit_found_len(const struct jit_found *f);
void jit_found_put(struct buf *b, const struct jit_found *f);

/**
 * jit_found_next() - read the next function of a PART
 *
 * Moves *@data and *@len after it. @n is the number of addresses in the request.
 *
 * Return: 1 and *@out, which borrows from *@data; 0 at the end; -EBADMSG.
 */
int jit_found_next(const uint8_t **data, size_t *len, uint32_t n, struct jit_found *out);
