/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A file in memory with the functions that a scan found at some of its addresses. */
#include <stddef.h>
#include <stdint.h>

#include "symbol/jit_input.h"
#include "symbol/jit_places.h"

struct jit_scan {
	struct jit_input in;
	struct jit_places places;
	uint64_t at; /* where the next scan begins */
};

void jit_scan_open(struct jit_scan *s, const void *data, size_t len, const uint64_t *addrs,
		   size_t n);
void jit_scan_close(struct jit_scan *s);

/* Expects the bytes at @t to be @expected. */
void jit_scan_check_text(const struct jit_scan *s, const struct jit_text *t, const char *expected);

/* Expects the function @expected at @addr, or none if it is NULL. Returns the place. */
const struct jit_place *jit_scan_check(const struct jit_scan *s, uint64_t addr,
				       const char *expected);
