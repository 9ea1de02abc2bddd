/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Hashes of contents, by which frames and series are identified in a database.
 *
 * They are not seeded, because all servers of a database must agree on them across restarts. A
 * client could therefore construct two stacks with one hash; the effect is confined to its own
 * tenant, whose name is part of every table's key. Any thread that may read the dictionary.
 */
#include <stddef.h>
#include <stdint.h>

struct stack_dict;
struct stack_dict_frame;

uint64_t clickhouse_hash_frame(const struct stack_dict *s, const struct stack_dict_frame *f);

/* The words are those of the series in the dictionary (store/series.h). */
uint64_t clickhouse_hash_series(const struct stack_dict *s, const uint32_t *words, size_t n);
