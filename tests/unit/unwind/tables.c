/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "elf/image.h"
#include "tests/test.h"
#include "unwind/flat_table.h"
#include "unwind/pages.h"

enum { CHUNKS = 2 };

/* The tables lie in plain memory and are filled from this program's libc. */
struct fixture {
	struct unwind_rule *rules;
	struct unwind_file *files;
	uint32_t generation;
	uint32_t *chunks[CHUNKS];
	struct unwind_tables *t;
	struct elf_image *libc;
	struct unwind_tables_source source;
};

static int add_chunk(void *ctx, uint32_t n, uint32_t **out)
{
	struct fixture *f = ctx;

	f->chunks[n] = calloc(1, ARENA_CHUNK_BYTES);
	*out = f->chunks[n];
	return 0;
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *ctx)
{
	if (strstr(info->dlpi_name, "libc.so"))
		*(const char **)ctx = info->dlpi_name;
	return 0;
}

static void fixture_init(struct fixture *f, uint32_t max_chunks)
{
	struct unwind_tables_memory mem = { .add_chunk = add_chunk,
					    .ctx = f,
					    .max_chunks = max_chunks,
					    .generation = &f->generation };
	const char *path = NULL;
	_cleanup_(closep) int fd = -1;

	*f = (struct fixture){ 0 };
	f->rules = calloc(UNWIND_RULES_MAX, sizeof(*f->rules));
	f->files = calloc(UNWIND_FILES_MAX, sizeof(*f->files));
	mem.rules = f->rules;
	mem.files = f->files;
	assert_int_equal(unwind_tables_new(&f->t, &mem), 0);
	dl_iterate_phdr(find_libc, &path);
	assert_non_null(path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_image_open(&f->libc, fd, NULL), 0);
	f->source.img = f->libc;
}

static void fixture_fini(struct fixture *f)
{
	elf_image_free(f->libc);
	unwind_tables_free(f->t);
	for (int i = 0; i < CHUNKS; i++)
		free(f->chunks[i]);
	free(f->rules);
	free(f->files);
}

static void a_file_is_ready_once_its_rows_are_in_place(void **state)
{
	struct unwind_tables_stats st;
	struct fixture f;

	fixture_init(&f, CHUNKS);
	assert_int_equal(f.files[1].state, FILE_TABLE_NOT_READY);
	assert_true(unwind_tables_build(f.t, 1, &f.source, 0, NULL) > 1000);
	assert_int_equal(f.files[1].state, FILE_TABLE_READY);
	assert_true(f.files[1].n_pages > 1);
	unwind_tables_stats(f.t, &st);
	assert_int_equal(st.n_files, 1);
	assert_true(st.n_rows > 1000 && st.n_rules > 10);
	fixture_fini(&f);
}

static void refuses_ids_out_of_range(void **state)
{
	struct fixture f;

	fixture_init(&f, CHUNKS);
	assert_int_equal(unwind_tables_build(f.t, 0, &f.source, 0, NULL), -EINVAL);
	assert_int_equal(unwind_tables_build(f.t, UNWIND_FILES_MAX, &f.source, 0, NULL), -EINVAL);
	fixture_fini(&f);
}

/*
 * Fills the memory with copies of libc's table. Returns the first id for which there was no room.
 */
static uint32_t fill(struct fixture *f, uint64_t now_ns)
{
	for (uint32_t id = 1;; id++) {
		int64_t n = unwind_tables_build(f->t, id, &f->source, now_ns, NULL);

		assert_true(id < 1000);
		if (n == -ENOSPC)
			return id;
		assert_true(n > 0);
	}
}

static void the_table_unused_for_longest_makes_room_for_another(void **state)
{
	const uint64_t minute = 60000000000ULL;
	struct unwind_tables_stats st;
	struct fixture f;
	uint32_t full;

	fixture_init(&f, 1);
	full = fill(&f, minute);
	assert_int_equal(f.files[full].state, FILE_TABLE_FULL);
	/* all tables are new, so none is dropped to make room */
	unwind_tables_stats(f.t, &st);
	assert_int_equal(st.n_evicted, 0);

	/* later, with all but file 2 in use, the next one replaces it */
	for (uint32_t i = 1; i < full; i++)
		f.files[i].used = i != 2;
	unwind_tables_reap(f.t, 3 * minute);
	assert_int_equal(unwind_tables_build(f.t, full, &f.source, 3 * minute, NULL), -ENOSPC);
	unwind_tables_stats(f.t, &st);
	assert_int_equal(st.n_evicted, 1);
	assert_int_equal(f.files[2].state, FILE_TABLE_NOT_READY);
	assert_int_equal(f.files[1].state, FILE_TABLE_READY);

	/* the memory comes back after the grace period; then the file may try again */
	unwind_tables_reap(f.t, 3 * minute + UNWIND_GRACE_NS);
	assert_int_equal(f.files[full].state, FILE_TABLE_NOT_READY);
	assert_true(unwind_tables_build(f.t, full, &f.source, 3 * minute + UNWIND_GRACE_NS, NULL) >
		    0);
	fixture_fini(&f);
}

static void dropping_a_table_voids_cached_rules(void **state)
{
	struct fixture f;
	uint32_t before;

	fixture_init(&f, CHUNKS);
	assert_true(unwind_tables_build(f.t, 1, &f.source, 0, NULL) > 0);
	before = f.generation;
	unwind_tables_drop(f.t, 1, 0);
	assert_int_not_equal(f.generation, before);
	assert_int_equal(f.files[1].state, FILE_TABLE_NOT_READY);
	fixture_fini(&f);
}

enum { RULES_EACH = 1000 };

/* Adds a table with rules that no other program has. Returns the number of its rows, or -errno. */
static int64_t put_program_of(struct fixture *f, uint32_t owner, uint32_t file, uint32_t number,
			      uint64_t now_ns)
{
	static struct unwind_rule rules[RULES_EACH];
	static struct unwind_row rows[RULES_EACH];
	const uint32_t start[] = { 0, RULES_EACH };
	const struct flat_table table = {
		.head = { .n_rules = RULES_EACH, .n_pages = 1, .n_rows = RULES_EACH },
		.rules = rules,
		.start = start,
		.rows = rows,
	};

	for (uint32_t i = 0; i < RULES_EACH; i++) {
		rules[i] =
			(struct unwind_rule){ .cfa = UNWIND_CFA_SP_OFF,
					      .cfa_off = (int32_t)(number * RULES_EACH + i) * 8 };
		rows[i] = (struct unwind_row){ (uint16_t)i, (uint16_t)i };
	}
	return unwind_tables_put(f->t, file, owner, &table, now_ns, NULL);
}

static int64_t put_program(struct fixture *f, uint32_t file, uint32_t number, uint64_t now_ns)
{
	return put_program_of(f, 0, file, number, now_ns);
}

/* The table with rules for code without CFI is larger, and the one without them is not lost. */
static void a_table_stays_if_there_is_no_room_for_a_larger_one(void **state)
{
	struct fixture f;
	uint64_t n_rows;
	uint32_t id;
	size_t bytes;

	fixture_init(&f, 1);
	for (id = fill(&f, 0) + 1; put_program(&f, id, id, 0) > 0;)
		assert_true(++id < UNWIND_FILES_MAX);
	bytes = unwind_tables_file_bytes(f.t, 1, &n_rows);
	assert_true(bytes > 0);
	f.files[1].state = FILE_TABLE_UNSWEPT;
	assert_int_equal(put_program(&f, 1, id, 0), -ENOSPC);
	assert_int_equal(f.files[1].state, FILE_TABLE_READY);
	assert_int_equal(unwind_tables_file_bytes(f.t, 1, &n_rows), bytes);
	fixture_fini(&f);
}

static uint32_t count_rules(const struct fixture *f)
{
	struct unwind_tables_stats st;

	unwind_tables_stats(f->t, &st);
	return st.n_rules;
}

static void check_program(const struct fixture *f, uint32_t file, uint32_t number)
{
	const struct unwind_page *page =
		(const void *)&f->chunks[0][f->files[file].first_page & ARENA_CHUNK_MASK];
	const struct unwind_row *rows =
		(const void *)&f->chunks[0][page->first_row & ARENA_CHUNK_MASK];

	assert_int_equal(page->n_rows, RULES_EACH);
	for (uint32_t i = 0; i < RULES_EACH; i++)
		assert_int_equal(f->rules[rows[i].rule].cfa_off, (number * RULES_EACH + i) * 8);
}

/* A hundred programs, of which each runs for a minute, have three times the rules that fit. */
static void rules_of_a_storm_of_programs_are_forgotten(void **state)
{
	const uint64_t second = 1000000000, stays = 1000;
	struct unwind_tables_stats before, st;
	uint64_t now = 0;
	struct fixture f;

	fixture_init(&f, 1);
	assert_int_equal(put_program(&f, 1, stays, now), RULES_EACH);
	unwind_tables_stats(f.t, &before);
	for (uint32_t i = 0; i < 100; i++) {
		assert_int_equal(put_program(&f, 2 + i, i, now), RULES_EACH);
		check_program(&f, 2 + i, i);
		check_program(&f, 1, stays);
		for (int s = 0; s < 20; s++, now += second)
			unwind_tables_reap(f.t, now);
		if (i >= 3)
			unwind_tables_drop(f.t, i - 1, now);
	}
	unwind_tables_stats(f.t, &st);
	assert_int_equal(st.n_rules_full, 0);
	for (uint32_t file = 99; file < 102; file++)
		unwind_tables_drop(f.t, file, now);
	for (int s = 0; s < 40; s++, now += second)
		unwind_tables_reap(f.t, now);
	unwind_tables_stats(f.t, &st);
	assert_int_equal(st.n_rules, before.n_rules);
	assert_int_equal(st.n_files, before.n_files);
	check_program(&f, 1, stays);
	fixture_fini(&f);
}

/* Tables whose rules are in the dictionary stay right; those that came too late have no rules. */
static void rules_without_room_are_counted(void **state)
{
	const uint32_t fit = UNWIND_RULES_MAX / RULES_EACH;
	struct unwind_tables_stats st;
	struct fixture f;

	fixture_init(&f, 1);
	for (uint32_t i = 1; i <= fit; i++)
		assert_int_equal(put_program(&f, i, i, 0), RULES_EACH);
	unwind_tables_stats(f.t, &st);
	assert_int_equal(st.n_rules_full, 0);
	assert_int_equal(put_program(&f, fit + 1, fit + 1, 0), RULES_EACH);
	unwind_tables_stats(f.t, &st);
	assert_in_range(st.n_rules_full, 1, RULES_EACH);
	assert_int_equal(st.n_rules, UNWIND_RULES_MAX);
	check_program(&f, 1, 1);
	check_program(&f, fit, fit);
	fixture_fini(&f);
}

/* Files of one user have a quarter of the dictionary, however many they are. */
static void one_user_cannot_exhaust_the_rules(void **state)
{
	enum { ONE = 64001, OTHER = 64002, SHARE = UNWIND_RULES_MAX / 4 };
	const uint32_t n_files = UNWIND_RULES_MAX / RULES_EACH + 2;
	struct unwind_tables_stats st;
	uint32_t before;
	struct fixture f;

	fixture_init(&f, 1);
	before = count_rules(&f);
	for (uint32_t i = 1; i <= n_files; i++)
		assert_int_equal(put_program_of(&f, ONE, i, i, 0), RULES_EACH);
	assert_int_equal(count_rules(&f), before + SHARE);
	unwind_tables_stats(f.t, &st);
	assert_int_equal(st.n_rules_full, n_files * RULES_EACH - SHARE);
	/* the same rules, which are known, cost nothing */
	assert_int_equal(put_program_of(&f, ONE, n_files + 1, 1, 0), RULES_EACH);
	check_program(&f, n_files + 1, 1);
	assert_int_equal(put_program_of(&f, OTHER, n_files + 2, n_files + 2, 0), RULES_EACH);
	check_program(&f, n_files + 2, n_files + 2);
	assert_int_equal(put_program(&f, n_files + 3, n_files + 3, 0), RULES_EACH);
	check_program(&f, n_files + 3, n_files + 3);
	/* a table that is dropped gives its rules back */
	unwind_tables_drop(f.t, 1, 0);
	assert_int_equal(put_program_of(&f, ONE, 1, n_files + 4, 0), RULES_EACH);
	check_program(&f, 1, n_files + 4);
	fixture_fini(&f);
}

TEST_GROUP(test_tables, TEST(one_user_cannot_exhaust_the_rules),
	   TEST(rules_without_room_are_counted), TEST(rules_of_a_storm_of_programs_are_forgotten),
	   TEST(a_file_is_ready_once_its_rows_are_in_place), TEST(refuses_ids_out_of_range),
	   TEST(the_table_unused_for_longest_makes_room_for_another),
	   TEST(a_table_stays_if_there_is_no_room_for_a_larger_one),
	   TEST(dropping_a_table_voids_cached_rules))
