/* SPDX-License-Identifier: Apache-2.0 */
/* covers: src/lang/entries.c */
#include <string.h>

#include "lang/lang.h"
#include "lang/languages.h"
#include "lang/question.h"
#include "lang/vm_memory.h"
#include "tests/test.h"

static struct vm_memory memory;

/* Each file is a Python whose loop begins at the number of its descriptor. */
static void detect(void *ctx, int fd, bool fold, struct lang_detection *out)
{
	memset(out, 0, sizeof(*out));
	out->code.lang = LANG_PYTHON;
	out->code.loop[0].lo = (uint64_t)fd;
	strcpy(out->runtime, "Python");
}

static struct langs *new_langs(void)
{
	const struct lang_source source = { .detect = detect };
	struct langs *l;

	vm_memory_init(&memory);
	assert_int_equal(langs_new(&l, &memory.tables, false), 0);
	langs_set_source(l, &source);
	return l;
}

static uint32_t add(struct langs *l, int fd)
{
	struct lang_file file;

	langs_detect(l, NULL, fd, &file);
	assert_true(!file.vm || memory.codes[file.vm].loop[0].lo == (uint64_t)fd);
	return file.vm;
}

static void a_full_table_is_counted(void **state)
{
	struct langs *l = new_langs();

	for (int i = 1; i < VM_TABLE_MAX; i++)
		assert_int_equal(add(l, i), i);
	assert_int_equal(langs_n_full(l), 0);
	assert_int_equal(add(l, VM_TABLE_MAX), 0);
	assert_int_equal(langs_n_full(l), 1);
	langs_free(l);
}

static void entries_that_are_not_marked_are_reused_oldest_first(void **state)
{
	struct langs *l = new_langs();

	for (int i = 1; i < VM_TABLE_MAX; i++)
		add(l, i);
	/* the first sweep spares what was added since the one before */
	langs_sweep(l);
	assert_int_equal(add(l, 1000), 0);
	for (uint32_t i = 1; i < VM_TABLE_MAX; i++)
		if (i != 7 && i != 200)
			langs_mark(l, i);
	langs_sweep(l);
	langs_mark(l, 0);
	for (uint32_t i = 1; i < VM_TABLE_MAX; i++)
		if (i != 3)
			langs_mark(l, i);
	langs_sweep(l);
	assert_int_equal(add(l, 1001), 7);
	assert_int_equal(add(l, 1002), 200);
	assert_int_equal(add(l, 1003), 3);
	assert_int_equal(add(l, 1004), 0);
	langs_free(l);
}

TEST_GROUP(test_entries, TEST(a_full_table_is_counted),
	   TEST(entries_that_are_not_marked_are_reused_oldest_first))
