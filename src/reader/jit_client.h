/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* READER_JIT, in the parent: sends a request to a reader and checks what it answers. */
#include <stdint.h>

#include "reader/jit_message.h"

struct role_pool;

struct jit_query {
	int fd; /* of the file; borrowed */
	struct jit_request request;
	const uint64_t *addrs;   /* request.n */
	unsigned int timeout_ms; /* also of waiting for a reader */
	uint64_t *waited_ns;     /* as that of a role_request, like until_ns */
	const _Atomic uint64_t *until_ns;
	/* Receives each function, valid during the call. Returns 0 or -errno, which ends it. */
	int (*found)(void *ctx, const struct jit_found *f);
	void *ctx;
};

/**
 * jit_client_find() - find functions of generated code in a file
 *
 * Waits for the reader. With another result than 0, functions may be missing and those that were
 * found may be outdated.
 *
 * Return: 0 and where to continue in *@out_end; -EAGAIN if the file must be read from 0, or no
 * reader was free; -ETIMEDOUT; -EPIPE if the reader died; -EBADMSG if it sent garbage and was
 * killed; -errno.
 */
int jit_client_find(struct role_pool *pool, const struct jit_query *q, uint64_t *out_end);
