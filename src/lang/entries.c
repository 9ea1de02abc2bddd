/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entries of the walk's tables that describe runtimes, and layouts of their data. There are
 * few, so entries that no file or mapping refers to any more are reused, but as late as possible,
 * because stacks that have been walked may still refer to them.
 */
#include <string.h>

#include "lang/lang.h"
#include "lang/language.h"
#include "lang/registry.h"

static void set_bit(uint64_t *bits, uint32_t i)
{
	bits[i / 64] |= 1ULL << i % 64;
}

static void clear_bit(uint64_t *bits, uint32_t i)
{
	bits[i / 64] &= ~(1ULL << i % 64);
}

static bool has_bit(const uint64_t *bits, uint32_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

/* Functions of the entry's last user lose their keys; words that refer to them remain valid. */
static void forget_vm(struct langs *l, uint32_t vm)
{
	for (uint32_t i = 0; i < l->functions.len; i++)
		if (l->functions.data[i].state != LANG_FUNCTION_FORGOTTEN &&
		    VM_FRAME_INDEX(l->keys.data[i].head) == vm)
			index_remove(&l->by_key, l->functions.data[i].hash, i);
	expansions_forget(l);
}

/* Returns a free entry of the tables; 0 if there is none. */
static uint32_t take_vm(struct langs *l)
{
	uint32_t vm;

	if (l->n_vms < VM_TABLE_MAX)
		return l->n_vms++;
	if (!l->n_free)
		return 0;
	vm = l->free_vms[l->first_free];
	l->first_free = (l->first_free + 1) % VM_TABLE_MAX;
	l->n_free--;
	clear_bit(l->is_free_vm, vm);
	forget_vm(l, vm);
	return vm;
}

uint32_t langs_add_vm(struct langs *l, const struct vm_code *code, const union lang_entry *entry)
{
	uint32_t vm = take_vm(l);
	size_t len;
	void *dst = vm ? lang_entry(&l->tables, code->lang, vm, &len) : NULL;

	if (!dst) {
		l->n_vms_full++;
		return 0;
	}
	memcpy(dst, entry, len);
	l->tables.codes[vm] = *code;
	l->file_vms[vm] = vm;
	set_bit(l->marked_vms, vm); /* so that the next sweep keeps it */
	return vm;
}

void langs_mark(struct langs *l, uint32_t vm)
{
	if (!vm || vm >= l->n_vms)
		return;
	set_bit(l->marked_vms, vm);
	set_bit(l->marked_vms, l->file_vms[vm]);
}

void langs_sweep(struct langs *l)
{
	for (uint32_t vm = 1; vm < l->n_vms; vm++) {
		if (!has_bit(l->marked_vms, vm) && !has_bit(l->is_free_vm, vm)) {
			l->free_vms[(l->first_free + l->n_free++) % VM_TABLE_MAX] = (uint16_t)vm;
			set_bit(l->is_free_vm, vm);
			l->file_vms[vm] = vm; /* it is not a layout of that file any more */
		}
		clear_bit(l->marked_vms, vm);
	}
}

void langs_count_full(struct langs *l)
{
	l->n_vms_full++;
}

uint64_t langs_n_full(const struct langs *l)
{
	return l->n_vms_full;
}
