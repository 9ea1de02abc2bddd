/* SPDX-License-Identifier: Apache-2.0 */
#include "store/clickhouse/clickhouse_hash.h"

#include "base/hash.h"
#include "flame/stack_dict.h"
#include "store/series.h"

static void hash_text(XXH3_state_t *h, const struct stack_dict *s, uint32_t id)
{
	/* includes the NUL, so that no text runs into the next */
	XXH3_64bits_update(h, stack_dict_string(s, id), stack_dict_string_len(s, id) + 1);
}

/* The value of XXH3 is stable since version 0.8.0, so it may be stored. */
uint64_t clickhouse_hash_frame(const struct stack_dict *s, const struct stack_dict_frame *f)
{
	const uint32_t numbers[] = { f->line, f->kind };
	XXH3_state_t h;

	XXH3_64bits_reset(&h);
	hash_text(&h, s, f->name);
	hash_text(&h, s, f->file);
	hash_text(&h, s, f->binary);
	XXH3_64bits_update(&h, numbers, sizeof(numbers));
	return XXH3_64bits_digest(&h);
}

uint64_t clickhouse_hash_series(const struct stack_dict *s, const uint32_t *words, size_t n)
{
	XXH3_state_t h;

	XXH3_64bits_reset(&h);
	for (size_t i = 0; i < n; i++) {
		if (i == SERIES_WORD_N_TYPES)
			XXH3_64bits_update(&h, &words[i], sizeof(words[i]));
		else
			hash_text(&h, s, words[i]);
	}
	return XXH3_64bits_digest(&h);
}
