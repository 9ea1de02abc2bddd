/* SPDX-License-Identifier: Apache-2.0 */
/* Checks tables, questions and facts of a compromised reader, and uses what is accepted. */
#include "unwind/flat_table.h"

#include <stdlib.h>
#include <string.h>

#include "reader/facts_message.h"
#include "reader/table_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void use_table(const struct flat_table *t)
{
	for (uint32_t i = 0; i < t->head.n_pages; i++) {
		if (t->start[i] > t->start[i + 1] || t->start[i + 1] > t->head.n_rows)
			abort();
		for (uint32_t k = t->start[i]; k < t->start[i + 1]; k++)
			if (t->rows[k].rule >= t->head.n_rules ||
			    t->rules[t->rows[k].rule].cfa >= UNWIND_CFA_MAX)
				abort();
	}
}

static void use_facts(const struct file_facts *f)
{
	char hex[2 * ELF_BUILD_ID_MAX + 1];

	elf_build_id_hex(&f->build_id, hex);
	if (strlen(hex) != 2 * (size_t)f->build_id.len || (hex[0] && !f->is_elf))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	void *copy = aligned_alloc(8, (len + 8) / 8 * 8); /* as a mapping is */
	const struct table_need *need;
	const struct file_facts *facts;
	struct flat_table t;

	if (!copy)
		return 0;
	if (len)
		memcpy(copy, data, len);
	if (flat_table_check(&t, copy, len) == 0)
		use_table(&t);
	need = table_need_check(copy, len);
	if (need && (strlen(need->link) >= TABLE_LINK_MAX || strchr(need->link, '/')))
		abort();
	facts = file_facts_check(copy, len);
	if (facts)
		use_facts(facts);
	free(copy);
	return 0;
}
