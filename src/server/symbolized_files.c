/* SPDX-License-Identifier: Apache-2.0 */
/* A linear search of at most SYMBOLIZED_FILES_MAX ids is a small part of symbolizing a mapping. */
#include "server/symbolized_files.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define KEEP_MS (SYMBOLIZED_FILES_KEEP_S * 1000LL)

void symbolized_files_fini(struct symbolized_files *t)
{
	vec_fini(t);
}

struct symbolized_file *symbolized_files_find(struct symbolized_files *t,
					      const struct elf_build_id *id)
{
	for (size_t i = 0; i < t->len; i++)
		if (t->data[i].id.len == id->len &&
		    !memcmp(t->data[i].id.bytes, id->bytes, id->len))
			return &t->data[i];
	return NULL;
}

const struct symbolized_file *symbolized_files_next_search(const struct symbolized_files *t)
{
	for (size_t i = 0; i < t->len; i++)
		if (t->data[i].state == SEARCHING)
			return &t->data[i];
	return NULL;
}

/*
 * The entry that makes room, or NULL. One that is being searched does not, because the thread that
 * searches will put its result there.
 */
static struct symbolized_file *find_unused(struct symbolized_files *t, int64_t now_ms)
{
	struct symbolized_file *oldest = NULL;

	for (size_t i = 0; i < t->len; i++) {
		struct symbolized_file *f = &t->data[i];

		if (f->state != SEARCHING && now_ms - f->used_ms > KEEP_MS &&
		    (!oldest || f->used_ms < oldest->used_ms))
			oldest = f;
	}
	return oldest;
}

bool symbolized_files_should_search(struct symbolized_files *t, const struct elf_build_id *id,
				    int64_t now_ms)
{
	const struct symbolized_file *known = symbolized_files_find(t, id);

	if (known)
		return known->state == MISSING && now_ms - known->searched_ms > KEEP_MS;
	return t->len < SYMBOLIZED_FILES_MAX || find_unused(t, now_ms);
}

int symbolized_files_put(struct symbolized_files *t, const struct symbolized_file *f,
			 int64_t now_ms, struct symbolized_file *out_evicted, bool *out_has_evicted)
{
	struct symbolized_file *at = symbolized_files_find(t, &f->id);

	*out_has_evicted = false;
	if (!at && t->len < SYMBOLIZED_FILES_MAX)
		return vec_push(t, *f);
	if (!at) {
		at = find_unused(t, now_ms);
		if (!at)
			return -ENOSPC;
		*out_evicted = *at;
		*out_has_evicted = true;
	}
	*at = *f;
	return 0;
}
