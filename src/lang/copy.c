/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serves the ranges of a copy as the memory of a process. A read must lie within one range: parts
 * of an object that were copied separately may be from different instants.
 */
#include "lang/copy.h"

#include <stdint.h>
#include <string.h>

#include "lang/functions.h"
#include "lang/lang.h"
#include "lang/registry.h"

struct copy {
	const struct function_record *rec;
	const struct lang_process *live; /* the process that was copied */
	bool lacks;                      /* a read failed because the copy lacks that memory */
};

static bool range_is_valid(const struct function_record *rec, const struct function_range *range)
{
	return range->len <= rec->n_bytes && range->off <= rec->n_bytes - range->len;
}

bool lang_copy_is_valid(const struct function_record *rec, size_t len)
{
	const size_t head = offsetof(struct function_record, bytes);

	if (len < head || rec->n_ranges > FUNCTION_RANGES_MAX || rec->n_bytes > FUNCTION_BYTES ||
	    len - head < rec->n_bytes || VM_FRAME_INDEX(rec->words[0]) >= VM_TABLE_MAX)
		return false;
	for (uint32_t i = 0; i < rec->n_ranges; i++)
		if (!range_is_valid(rec, &rec->ranges[i]))
			return false;
	return true;
}

static int read_copy(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct copy *c = ctx;

	for (uint32_t i = 0; i < c->rec->n_ranges; i++) {
		const struct function_range *r = &c->rec->ranges[i];
		uint64_t off = addr - r->at;

		if (off > r->len || len > r->len - off)
			continue;
		memcpy(dst, c->rec->bytes + r->off + off, len);
		return 0;
	}
	c->lacks = true;
	return -1;
}

static uint64_t bias_of(void *ctx, uint32_t vm)
{
	const struct copy *c = ctx;

	return c->live->bias ? c->live->bias(c->live->ctx, vm) : 0;
}

/* Returns true if the function of a frame is known and was read. */
static bool is_read(struct langs *l, const struct lang_process *p, const uint64_t words[2])
{
	struct function_need need;

	return !langs_need_function(l, p, words, &need) && need.id < l->functions.len &&
	       l->functions.data[need.id].state == LANG_FUNCTION_READ;
}

/* Reads the function from the copy. Returns true if it has a name there. */
static bool read_function(struct langs *l, struct copy *c, const struct function_need *need,
			  struct lang_answer *out)
{
	const struct lang_process process = { .pid = c->live->pid,
					      .start_ns = c->live->start_ns,
					      .read = read_copy,
					      .bias = bias_of,
					      .ctx = c,
					      .is_copy = true,
					      .signatures = l->signatures };

	lang_answer(&l->tables, &process, &need->question, out);
	return out->result == 0;
}

void langs_add_copy(struct langs *l, const struct lang_process *p,
		    const struct function_record *rec)
{
	const uint64_t *words = (const uint64_t *)rec->words;
	struct copy c = { .rec = rec, .live = p };
	struct function_need need;
	struct lang_answer answer;

	if (is_read(l, p, words))
		return;
	(void)langs_need_function(l, p, words, &need);
	if (read_function(l, &c, &need, &answer)) {
		if (c.lacks)
			(void)langs_script_word(l, p, words);
		if (!c.lacks || !is_read(l, p, words))
			langs_take_function(l, &need, &answer);
	}
	lang_function_fini(&answer.function);
}
