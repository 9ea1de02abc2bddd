/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/protocol.h"

struct symbol_facts *symbol_facts_new(const struct protocol_facts *facts)
{
	size_t len = facts->n_segments * sizeof(facts->segments[0]);
	struct symbol_facts *f = malloc(sizeof(*f) + len);

	if (!f)
		return NULL;
	f->build_id = facts->build_id;
	f->is_elf = facts->is_elf;
	f->n_segments = facts->n_segments;
	memcpy(f->segments, facts->segments, len);
	return f;
}

int symbol_facts_vaddr(const struct symbol_facts *facts, uint64_t file_off, uint64_t *out)
{
	for (int exec = 1; exec >= 0; exec--) {
		for (size_t i = 0; i < facts->n_segments; i++) {
			const struct elf_segment *s = &facts->segments[i];

			if (s->exec != exec || file_off < s->file_off ||
			    file_off - s->file_off >= s->filesz)
				continue;
			*out = s->vaddr + (file_off - s->file_off);
			return 0;
		}
	}
	return -ENOENT;
}
