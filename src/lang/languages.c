/* SPDX-License-Identifier: Apache-2.0 */
#include "lang/languages.h"

#include "lang/language.h"

#define X(sym, name) extern const struct lang name##_lang;
#include "bpf/shared/langs.def"
#undef X

static const struct lang *const languages[LANG_MAX] = {
#define X(sym, name) [LANG_##sym] = &name##_lang,
#include "bpf/shared/langs.def"
#undef X
};

const struct lang *lang_get(uint32_t lang)
{
	return lang < LANG_MAX ? languages[lang] : NULL;
}

void *lang_entry(const struct vm_tables *tables, uint32_t lang, uint32_t vm, size_t *out_len)
{
	*out_len = 0;
	if (vm >= VM_TABLE_MAX)
		return NULL;
	switch (lang) {
#define X(sym, name)                                                                               \
	case LANG_##sym:                                                                           \
		*out_len = sizeof(*tables->name);                                                  \
		return tables->name ? &tables->name[vm] : NULL;
#include "bpf/shared/langs.def"
#undef X
	default:
		return NULL;
	}
}

void lang_tables_of(struct vm_tables *tables, struct vm_code *code, union lang_entry *entry)
{
	tables->codes = code;
	tables->contexts = NULL;
#define X(sym, name) tables->name = &entry->name;
#include "bpf/shared/langs.def"
#undef X
}
