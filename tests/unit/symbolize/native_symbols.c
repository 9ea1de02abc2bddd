/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of this program are looked up once, located in their segment, and given up at the deadline.
 */
#include "symbolize/native_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/shared/abi.h"
#include "fixture.h"
#include "proc/maps.h"
#include "process/file_table.h"
#include "tests/test.h"

struct scene {
	struct fixture f;
	struct native_symbols *s;
	_Atomic uint64_t until_ns;
};

static void begin(struct scene *c)
{
	struct native_symbols_opts opts = { .symbolizer.no_dwarf = true };

	c->until_ns = 0;
	fixture_init(&c->f);
	opts.files = c->f.files;
	opts.symbolizer.until_ns = &c->until_ns;
	assert_int_equal(native_symbols_new(&c->s, &opts), 0);
}

static void end(struct scene *c)
{
	native_symbols_free(c->s);
	fixture_fini(&c->f);
}

struct search {
	struct file_table *files;
	uint64_t addr, word;
};

static int find_mapping(void *ctx, const struct proc_map *m)
{
	struct search *s = ctx;
	struct file_ref ref = { .pid = (uint32_t)getpid(),
				.start = m->start,
				.end = m->end,
				.dev_major = m->dev_major,
				.dev_minor = m->dev_minor,
				.inode = m->inode,
				.path = m->path };

	if (s->addr < m->start || s->addr >= m->end)
		return 0;
	s->word = FRAME_NATIVE_WORD(file_table_find(s->files, &ref),
				    s->addr - m->start + m->file_off);
	return 1;
}

static uint64_t word_of(struct scene *c, const void *addr)
{
	struct search s = { .files = c->f.files, .addr = (uint64_t)(uintptr_t)addr };

	assert_int_equal(proc_maps_read(getpid(), PROC_MAPS_EXEC, find_mapping, &s, NULL), 1);
	return s.word;
}

static uint64_t n_lookups(const struct scene *c)
{
	struct symbolizer_counters counters;

	native_symbols_counters(c->s, &counters);
	return counters.addresses;
}

__attribute__((noinline, used)) void a_native_function(void);
__attribute__((noinline, used)) void a_native_function(void)
{
	__asm__ volatile("nop; nop; nop");
}

static void a_word_is_looked_up_once_until_the_cache_is_trimmed(void **state)
{
	const struct symbol_frame *frames;
	struct native_file file = { 0 };
	struct scene c;
	uint64_t word, same[3];
	size_t n;

	begin(&c);
	word = word_of(&c, a_native_function);
	for (int i = 0; i < 3; i++)
		same[i] = word;
	assert_int_equal(native_symbols_prefetch(c.s, same, 1, NULL), 0);
	assert_int_equal(n_lookups(&c), 1);
	assert_int_equal(native_symbols_prefetch(c.s, same, 3, NULL), 0);
	assert_int_equal(native_symbols_select(c.s, word, &file), 0);
	assert_int_equal(native_symbols_find(c.s, &file, word, &frames, &n), 0);
	assert_int_equal(n, 1);
	assert_string_equal(frames[0].name, "a_native_function");
	assert_int_equal(n_lookups(&c), 1);
	assert_true(native_symbols_bytes(c.s) > 0);

	native_symbols_end_batch(c.s);
	native_symbols_trim(c.s);
	file = (struct native_file){ 0 };
	assert_int_equal(native_symbols_select(c.s, word, &file), 0);
	assert_int_equal(native_symbols_find(c.s, &file, word, &frames, &n), 0);
	assert_string_equal(frames[0].name, "a_native_function");
	/* counters continue when the symbolizer is replaced */
	assert_int_equal(n_lookups(&c), 2);
	end(&c);
}

static void after_the_deadline_only_the_cache_is_used(void **state)
{
	const struct symbol_frame *frames;
	struct native_file file = { 0 };
	uint64_t known, unknown, word;
	struct scene c;
	size_t n;

	begin(&c);
	known = word_of(&c, a_native_function);
	unknown = known + 1;
	word = known;
	assert_int_equal(native_symbols_prefetch(c.s, &word, 1, NULL), 0);
	atomic_store(&c.until_ns, 1);
	word = unknown;
	assert_int_equal(native_symbols_prefetch(c.s, &word, 1, NULL), 0);
	assert_int_equal(native_symbols_select(c.s, known, &file), 0);
	assert_int_equal(native_symbols_find(c.s, &file, known, &frames, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(native_symbols_find(c.s, &file, unknown, &frames, &n),
			 NATIVE_SYMBOLS_LATE);
	assert_int_equal(n, 0);
	assert_int_equal(n_lookups(&c), 1);
	end(&c);
}

static void an_offset_has_an_address_in_its_segment(void **state)
{
	struct native_file file = { 0 };
	struct native_place inside, outside;
	uint64_t word;
	struct scene c;

	begin(&c);
	word = word_of(&c, a_native_function);
	assert_int_equal(native_symbols_select(c.s, word, &file), 0);
	native_symbols_place(c.s, &file, word & FRAME_OFFSET_MASK, &inside);
	assert_true(inside.vaddr >= inside.start && inside.vaddr < inside.limit);
	assert_true(inside.limit < UINT64_MAX);
	assert_int_equal(inside.start % 4096 + inside.file_off % 4096, 0);
	assert_int_equal((uint64_t)(uintptr_t)a_native_function % 4096, inside.vaddr % 4096);
	native_symbols_place(c.s, &file, FRAME_OFFSET_MASK, &outside);
	assert_int_equal(outside.vaddr, FRAME_OFFSET_MASK);
	assert_int_equal(outside.limit, UINT64_MAX);
	end(&c);
}

static void a_word_of_no_file_is_refused(void **state)
{
	uint64_t word = FRAME_NATIVE_WORD(1, 0);
	struct native_file file = { 0 };
	struct scene c;

	begin(&c);
	assert_int_equal(native_symbols_select(c.s, word, &file), -ENOMEM);
	assert_null(file.info);
	assert_int_equal(native_symbols_prefetch(c.s, &word, 1, NULL), -ENOMEM);
	end(&c);
}

TEST_GROUP(test_native_symbols, TEST(a_word_is_looked_up_once_until_the_cache_is_trimmed),
	   TEST(after_the_deadline_only_the_cache_is_used),
	   TEST(an_offset_has_an_address_in_its_segment), TEST(a_word_of_no_file_is_refused))
