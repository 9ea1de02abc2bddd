/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Interned strings: equal bytes have one id, ids are dense from 0, and id 0
 * is always "". Strings are kept with a terminating NUL and never move.
 */
#include <stddef.h>
#include <stdint.h>

struct strtab;

/* 0 and a new table, or -ENOMEM. */
int strtab_new(struct strtab **out);
void strtab_free(struct strtab *t);

/* Make room for @n strings in all: 0 or -ENOMEM. */
int strtab_reserve(struct strtab *t, size_t n);

/* The id of @len bytes at @s, added if new. 0 or -ENOMEM. */
int strtab_add(struct strtab *t, const char *s, size_t len, uint32_t *out_id);

/* Borrowed; valid as long as the table is. @id must be one it gave out. */
const char *strtab_get(const struct strtab *t, uint32_t id);
size_t strtab_len(const struct strtab *t, uint32_t id);

/* Number of strings; ids are below it. */
uint32_t strtab_count(const struct strtab *t);
/* Bytes it holds, for budgets. */
size_t strtab_bytes(const struct strtab *t);
