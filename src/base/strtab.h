/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A table of interned strings: equal strings have one id, ids are dense from 0, and id 0 is
 * always "". Strings may contain NUL bytes, are stored with a terminating NUL and never move.
 * Safe for untrusted strings (the hash is seeded). One thread at a time may add, find, reserve and
 * count bytes; others may use the strings below a strtab_count() that they have read.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct strtab;

/* Returns 0 and a new table, or -ENOMEM. */
int strtab_new(struct strtab **out);
void strtab_free(struct strtab *t);

/* Allocates space for @n strings in total, without their bytes. Returns 0 or -ENOMEM. */
int strtab_reserve(struct strtab *t, size_t n);

/* Finds or adds the string of @len bytes at @s, which is copied. Returns 0 or -ENOMEM. */
int strtab_add(struct strtab *t, const char *s, size_t len, uint32_t *out_id);

/* Finds a string without adding it. Returns 0 or -ENOENT. */
int strtab_find(const struct strtab *t, const char *s, size_t len, uint32_t *out_id);

/* The string with this id, which must exist; borrowed until the table is freed. */
const char *strtab_get(const struct strtab *t, uint32_t id);
size_t strtab_len(const struct strtab *t, uint32_t id);

/* The number of strings; all ids are below it. */
uint32_t strtab_count(const struct strtab *t);

/* Memory in bytes, for budgets. */
size_t strtab_bytes(const struct strtab *t);

DEFINE_FREEP(struct strtab, strtab_free)
