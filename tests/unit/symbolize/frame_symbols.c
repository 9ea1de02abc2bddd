/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of frame words of this program and of the C library are compared with known names. */
#include "symbolize/frame_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proc/maps.h"
#include "process/file_table.h"
#include "process/jit_symbols.h"
#include "profile/profile.h"
#include "tests/test.h"
#include "tests/unit/process/readers.h"
#include "unwind/tables.h"

struct fixture {
	struct unwind_rule *rules;
	struct unwind_file *unwind_files;
	uint32_t generation;
	struct unwind_tables *tables;
	struct role_pool *readers;
	struct file_table *files;
	struct jit_symbols *jits;
	struct frame_symbols *symbols;
	struct profile *profile;
	atomic_bool must_yield;
	_Atomic uint64_t until_ns;
};

static int no_chunk(void *ctx, uint32_t n, uint32_t **out)
{
	return -ENOMEM;
}

static void fixture_init(struct fixture *f)
{
	struct unwind_tables_memory mem = { .add_chunk = no_chunk };
	struct frame_symbols_opts opts = { .symbolizer.no_dwarf = true };

	*f = (struct fixture){ 0 };
	f->rules = calloc(UNWIND_RULES_MAX, sizeof(*f->rules));
	f->unwind_files = calloc(UNWIND_FILES_MAX, sizeof(*f->unwind_files));
	mem.rules = f->rules;
	mem.files = f->unwind_files;
	mem.generation = &f->generation;
	assert_int_equal(unwind_tables_new(&f->tables, &mem), 0);
	file_table_with_readers(&f->files, &f->readers, f->tables);
	assert_int_equal(jit_symbols_new(&f->jits, NULL), 0);
	opts.files = f->files;
	opts.jits = f->jits;
	opts.must_yield = &f->must_yield;
	opts.symbolizer.until_ns = &f->until_ns;
	assert_int_equal(frame_symbols_new(&f->symbols, &opts), 0);
	assert_int_equal(profile_new(&f->profile), 0);
}

static void fixture_fini(struct fixture *f)
{
	profile_free(f->profile);
	frame_symbols_free(f->symbols);
	jit_symbols_free(f->jits);
	file_table_free(f->files);
	role_pool_free(f->readers);
	unwind_tables_free(f->tables);
	free(f->rules);
	free(f->unwind_files);
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

/* Returns the frame word of an address in this process. */
static uint64_t word_of(struct fixture *f, const void *addr)
{
	struct search s = { .files = f->files, .addr = (uint64_t)(uintptr_t)addr };

	assert_int_equal(proc_maps_read(getpid(), PROC_MAPS_EXEC, find_mapping, &s, NULL), 1);
	return s.word;
}

static const char *name_at(const struct fixture *f, const struct frame_location *w)
{
	struct profile_location l = profile_location(f->profile, w->location);

	assert_int_equal(l.n_lines, 1);
	return profile_string(f->profile, profile_function(f->profile, l.lines[0].function)->name);
}

static uint64_t n_lookups(const struct fixture *f)
{
	struct symbolizer_counters c;

	frame_symbols_counters(f->symbols, &c);
	return c.addresses;
}

__attribute__((noinline, used)) void first_function(void);
__attribute__((noinline, used)) void first_function(void)
{
	__asm__ volatile("nop; nop; nop");
}

__attribute__((noinline, used)) void second_function(void);
__attribute__((noinline, used)) void second_function(void)
{
	__asm__ volatile("nop; nop");
}

static void resolves_a_mixed_batch_in_its_order(void **state)
{
	struct fixture f;
	uint64_t first, second, libc;

	fixture_init(&f);
	first = word_of(&f, first_function);
	second = word_of(&f, second_function);
	libc = word_of(&f, qsort);
	struct frame_location words[] = {
		{ .word = libc },
		{ .word = second },
		{ .word = FRAME_WORD(FRAME_ERROR, WALK_ERR_NO_RULE) },
		{ .word = first },
		{ .word = FRAME_WORD(FRAME_ADDRESS, 0x1234), .pid = 7 },
		{ .word = second },
	};

	assert_int_equal(frame_symbols_resolve(f.symbols, f.profile, words, 6), 0);
	assert_int_equal(words[0].word, libc);
	assert_non_null(strstr(name_at(&f, &words[0]), "qsort"));
	assert_string_equal(name_at(&f, &words[1]), "second_function");
	assert_string_equal(name_at(&f, &words[2]), "[incomplete: no unwind rule]");
	assert_string_equal(name_at(&f, &words[3]), "first_function");
	assert_string_equal(name_at(&f, &words[4]), "[anonymous code]");
	assert_int_equal(words[5].location, words[1].location);
	assert_int_equal(words[4].lost, NAME_LOSS_GENERATED);
	assert_int_equal(words[0].lost, NAME_LOSS_NONE);
	assert_int_equal(words[0].kind, PROFILE_FRAME_NATIVE);
	assert_int_equal(words[2].kind, PROFILE_FRAME_ERROR);
	fixture_fini(&f);
}

static void a_prefetched_batch_is_not_looked_up_again(void **state)
{
	struct frame_location words[2] = { 0 };
	struct fixture f;
	uint64_t n;

	fixture_init(&f);
	words[0].word = word_of(&f, first_function);
	words[1].word = word_of(&f, qsort);
	assert_int_equal(frame_symbols_prefetch(f.symbols, words, 2), 0);
	n = n_lookups(&f);
	assert_int_equal(n, 2);
	assert_int_equal(frame_symbols_resolve(f.symbols, f.profile, words, 2), 0);
	assert_string_equal(name_at(&f, &words[0]), "first_function");
	assert_int_equal(n_lookups(&f), n);
	assert_true(frame_symbols_bytes(f.symbols) > 0);
	frame_symbols_end_batch(f.symbols);
	frame_symbols_trim(f.symbols);
	assert_int_equal(frame_symbols_resolve(f.symbols, f.profile, words, 2), 0);
	assert_string_equal(name_at(&f, &words[0]), "first_function");
	assert_int_equal(n_lookups(&f), 2 * n);
	fixture_fini(&f);
}

static void yields_between_two_files_and_continues_later(void **state)
{
	struct frame_location words[2] = { 0 };
	struct fixture f;

	fixture_init(&f);
	words[0].word = word_of(&f, first_function);
	words[1].word = word_of(&f, qsort);
	atomic_store(&f.must_yield, true);
	assert_int_equal(frame_symbols_prefetch(f.symbols, words, 2), -EAGAIN);
	assert_int_equal(n_lookups(&f), 1);
	assert_int_equal(frame_symbols_prefetch(f.symbols, words, 2), 0);
	assert_int_equal(n_lookups(&f), 2);
	atomic_store(&f.must_yield, false);
	assert_int_equal(frame_symbols_prefetch(f.symbols, words, 2), 0);
	assert_int_equal(n_lookups(&f), 2);
	fixture_fini(&f);
}

static void after_the_deadline_frames_are_addresses(void **state)
{
	struct frame_location words[2] = { 0 };
	struct fixture f;

	fixture_init(&f);
	words[0].word = word_of(&f, first_function);
	words[1].word = word_of(&f, second_function);
	assert_int_equal(frame_symbols_resolve(f.symbols, f.profile, words, 1), 0);
	atomic_store(&f.until_ns, 1);
	assert_int_equal(frame_symbols_resolve(f.symbols, f.profile, words, 2), 0);
	assert_string_equal(name_at(&f, &words[0]), "first_function");
	assert_int_equal(words[1].lost, NAME_LOSS_LATE);
	assert_non_null(strstr(name_at(&f, &words[1]), "+0x"));
	assert_int_equal(n_lookups(&f), 1);
	fixture_fini(&f);
}

/* Nothing shows where its functions begin. */
static void code_in_a_file_that_is_not_elf_has_the_name_of_the_file(void **state)
{
	struct frame_location words[2] = { 0 };
	char path[] = "/tmp/not-elf.XXXXXX", expected[32];
	int fd = mkostemp(path, O_CLOEXEC);
	struct fixture f;
	uint8_t *code;

	assert_int_equal(write(fd, "core", 4), 4);
	assert_int_equal(ftruncate(fd, 4096), 0);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_true(code != MAP_FAILED);
	fixture_init(&f);
	words[0].word = word_of(&f, code + 16);
	words[1].word = word_of(&f, code + 32);
	assert_int_equal(frame_symbols_resolve(f.symbols, f.profile, words, 2), 0);
	snprintf(expected, sizeof(expected), "[%s]", path + strlen("/tmp/"));
	assert_string_equal(name_at(&f, &words[0]), expected);
	assert_string_equal(name_at(&f, &words[1]), expected);
	assert_int_equal(words[1].lost, NAME_LOSS_NO_SYMBOL);
	fixture_fini(&f);
	munmap(code, 4096);
	unlink(path);
	close(fd);
}

/* Compares a batch that exceeds one request to the symbolizer with one request per address. */
static void a_large_batch_has_the_results_of_single_lookups(void **state)
{
	enum { N = 3000 };
	struct frame_location *words = calloc(N, sizeof(*words)), one;
	struct fixture f, single;
	uint64_t start;

	assert_non_null(words);
	fixture_init(&f);
	fixture_init(&single);
	start = word_of(&f, qsort);
	assert_int_equal(word_of(&single, qsort), start);
	for (uint64_t i = 0; i < N; i++)
		words[i].word = start + (i * 7919) % N;
	assert_int_equal(frame_symbols_resolve(f.symbols, f.profile, words, N), 0);
	assert_int_equal(n_lookups(&f), N);
	for (int i = 0; i < N; i += 37) {
		char name[256];

		snprintf(name, sizeof(name), "%s", name_at(&f, &words[i]));
		one = (struct frame_location){ .word = words[i].word };
		assert_int_equal(frame_symbols_resolve(single.symbols, single.profile, &one, 1), 0);
		assert_string_equal(name_at(&single, &one), name);
		assert_int_equal(one.lost, words[i].lost);
	}
	fixture_fini(&f);
	fixture_fini(&single);
	free(words);
}

TEST_GROUP(test_frame_symbols, TEST(resolves_a_mixed_batch_in_its_order),
	   TEST(a_prefetched_batch_is_not_looked_up_again),
	   TEST(yields_between_two_files_and_continues_later),
	   TEST(code_in_a_file_that_is_not_elf_has_the_name_of_the_file),
	   TEST(after_the_deadline_frames_are_addresses),
	   TEST(a_large_batch_has_the_results_of_single_lookups))
