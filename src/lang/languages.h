/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The list of languages, and access to their entries in the VM tables by number. */
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/abi.h"
#include "bpf/shared/vms.h"

struct lang;

/* An entry of the table of any language. */
union lang_entry {
#define X(sym, name) struct name##_vm name;
#include "bpf/shared/langs.def"
#undef X
};

/* Returns the implementation of @lang (enum vm_lang), or NULL. */
const struct lang *lang_get(uint32_t lang);

/* Returns entry @vm of the table of @lang, and its size. NULL if there is no such entry. */
void *lang_entry(const struct vm_tables *tables, uint32_t lang, uint32_t vm, size_t *out_len);

/* Makes all tables of @tables begin at @entry: entry 0 of each is then @entry. */
void lang_tables_of(struct vm_tables *tables, struct vm_code *code, union lang_entry *entry);
