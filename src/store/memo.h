/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What was interned before, by a hash of all that it was made of: 128 bits and
 * seeded, so equal hashes are taken for equal things. Forgetting costs time only,
 * so what it holds is bounded.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memo_key {
	uint64_t low, high;
};

struct memo_slot {
	struct memo_key key;
	uint32_t value_plus_1; /* 0: empty */
};

struct memo {
	struct memo_slot *slots;
	uint32_t n_slots; /* 0 or a power of two */
	uint32_t n_used;
};

void memo_fini(struct memo *m);

/* The same in all of a process, so that any thread may make them. */
struct memo_key memo_key(const void *data, size_t len);
bool memo_find(const struct memo *m, struct memo_key key, uint32_t *out_value);

/* For want of memory it is not kept. */
void memo_add(struct memo *m, struct memo_key key, uint32_t value);

size_t memo_bytes(const struct memo *m);
