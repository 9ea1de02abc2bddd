/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of functions with arbitrary content: a record is refused if it claims what it does not
 * have; the languages read the others within their bounds, and whatever they return can be
 * symbolized.
 *
 * An input is a language, the entry in its table, then a record without its header.
 */
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lang/copy.h"
#include "lang/lang.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct {
	struct vm_code codes[VM_TABLE_MAX];
#define X(sym, name) struct name##_vm name[VM_TABLE_MAX];
#include "bpf/shared/langs.def"
#undef X
} world;

static int read_nothing(void *ctx, uint64_t addr, void *dst, size_t len)
{
	(void)ctx;
	(void)addr;
	(void)dst;
	(void)len;
	return -1;
}

/* Copies the first bytes to the entry of the language's table. Returns their number. */
static size_t set_machine(uint32_t lang, const uint8_t *data, size_t len)
{
	world.codes[1] = (struct vm_code){ .lang = (uint16_t)lang };
	switch (lang) {
#define X(sym, name)                                                                               \
	case LANG_##sym:                                                                           \
		memset(&world.name[1], 0, sizeof(world.name[1]));                                  \
		if (len > sizeof(world.name[1]))                                                   \
			len = sizeof(world.name[1]);                                               \
		memcpy(&world.name[1], data, len);                                                 \
		return len;
#include "bpf/shared/langs.def"
#undef X
	}
	return 0;
}

static void add(const struct function_record *rec)
{
	struct vm_tables tables = { .codes = world.codes };
	struct lang_process process = { .pid = 1, .read = read_nothing };
	uint64_t word = FRAME_WORD(FRAME_SCRIPT, rec->words[1] >> 32);
	struct symbol_frame frame;
	struct langs *l;
	int r;

#define X(sym, name) tables.name = world.name;
#include "bpf/shared/langs.def"
#undef X
	r = langs_new(&l, &tables, true);
	assert(r == 0);
	langs_add_copy(l, &process, rec);
	langs_symbolize(l, word, &frame);
	assert(frame.name && frame.file && strlen(frame.name) < 4 * LANG_NAME_MAX);
	langs_free(l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const size_t head = sizeof(struct record_header);
	struct function_record *rec;
	size_t n;

	if (len < 2 || LANG_MAX < 2)
		return 0;
	n = 1 + set_machine(LANG_NONE + 1 + data[0] % (LANG_MAX - 1), data + 1, len - 1);
	/* of the record's exact size, so that a read beyond it is found */
	rec = calloc(1, head + len - n);
	assert(rec);
	memcpy((uint8_t *)rec + head, data + n, len - n);
	if (lang_copy_is_valid(rec, head + len - n)) {
		rec->words[0] = VM_FRAME_WORD(0, 1, VM_FRAME_ADDR(rec->words[0]));
		add(rec);
	}
	free(rec);
	return 0;
}
