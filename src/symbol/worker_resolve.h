/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Looks up addresses of one file in its sources of names, one after the other, until each address
 * has a name. Runs in the symbolizer.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/protocol.h"

struct demangle;
struct worker_file;
struct worker_files;

struct worker_resolve_opts {
	struct worker_files *files;
	struct demangle *demangle;
	/* Receives the frames of an address, valid during the call. */
	void (*put)(void *ctx, const struct protocol_response *r);
	void *ctx;
	bool tables_only; /* no debug information */
	bool name_all;    /* also report addresses without a name */
	uint32_t debug_version;
};

/*
 * Looks up @n addresses, at most PROTOCOL_ADDRS_MAX, of a file that is in use. Reads mapped files:
 * call it under sigbus_run().
 */
void worker_resolve(const struct worker_resolve_opts *opts, struct worker_file *f,
		    const uint64_t *vaddrs, size_t n);
