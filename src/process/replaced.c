/* SPDX-License-Identifier: Apache-2.0 */
#include "process/replaced.h"

#include <stdlib.h>

#include "bpf/shared/abi.h"
#include "process/mapping_set.h"

enum { FILES_MAX = 8 }; /* the oldest one is dropped to make room */

struct replaced {
	struct {
		uint32_t file;
		uint64_t since_ns, until_ns; /* until_ns is UINT64_MAX before the publication */
	} all[FILES_MAX];
	uint32_t n;
};

static void note_file(struct replaced **r, uint32_t file, uint64_t time_ns)
{
	uint32_t i;

	if (!*r)
		*r = calloc(1, sizeof(**r));
	if (!*r)
		return;
	for (i = 0; i < FILES_MAX; i++)
		if ((*r)->all[i].file == file && (*r)->all[i].until_ns == UINT64_MAX)
			return;
	i = (*r)->n++ % FILES_MAX;
	(*r)->all[i].file = file;
	(*r)->all[i].since_ns = time_ns;
	(*r)->all[i].until_ns = UINT64_MAX;
}

/* Returns true if @a and @b, which overlap, map the same bytes to the same addresses. */
static bool is_same(const struct unwind_mapping *a, const struct unwind_mapping *b)
{
	return a->kind == b->kind && a->file == b->file &&
	       a->start - a->file_off == b->start - b->file_off;
}

void replaced_note(struct replaced **r, const struct mapping_set *m,
		   const struct unwind_mapping *by, uint64_t time_ns)
{
	for (uint32_t i = 0; i < mapping_set_count(m); i++) {
		const struct unwind_mapping *old = mapping_set_get(m, i);

		if (old->start >= by->end)
			return;
		if (old->end > by->start && old->kind == MAPPING_FILE && !is_same(old, by))
			note_file(r, old->file, time_ns);
	}
}

void replaced_publish(struct replaced *r, uint64_t time_ns)
{
	for (uint32_t i = 0; r && i < FILES_MAX; i++)
		if (r->all[i].until_ns == UINT64_MAX)
			r->all[i].until_ns = time_ns;
}

bool replaced_has(const struct replaced *r, uint32_t file, uint64_t time_ns)
{
	for (uint32_t i = 0; r && i < FILES_MAX; i++)
		if (r->all[i].file == file && time_ns >= r->all[i].since_ns &&
		    time_ns <= r->all[i].until_ns)
			return true;
	return false;
}
