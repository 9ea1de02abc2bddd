/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a cached symbol table, then restores a table from the same bytes without checksum. */
#include "symbol/table_cache.h"

#include <stdlib.h>
#include <string.h>

#include "elf/symtab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void *copy(const uint8_t *data, size_t len)
{
	void *p = malloc(len ? len : 1);

	if (p && len)
		memcpy(p, data, len);
	return p;
}

static void look_up(struct elf_symtab *t)
{
	volatile size_t sum = 0;
	struct elf_symbol s;

	for (size_t i = 0; i < elf_symtab_count(t); i++) {
		elf_symtab_at(t, i, &s);
		sum += strlen(s.name);
		if (elf_symtab_find(t, s.vaddr + s.size / 2, &s) == 0)
			sum += strlen(s.name);
	}
	elf_symtab_free(t);
	(void)sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct elf_symtab *t;
	void *block = copy(data, len);

	if (block && table_cache_parse(&t, block, len) == 0)
		look_up(t);
	block = copy(data, len);
	if (block && elf_symtab_restore(&t, block, 0, len) == 0)
		look_up(t);
	return 0;
}
