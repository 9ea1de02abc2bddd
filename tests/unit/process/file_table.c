/* SPDX-License-Identifier: Apache-2.0 */
/* covers: src/process/file_table.c src/process/mapped_file.c */
#include "process/file_table.h"
#include "process/table_maker.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/regular_file.h"
#include "machine.h"
#include "proc/user.h"
#include "process/mapped_file.h"
#include "tests/test.h"

enum { LEN = 3 * 4096 };

struct folder {
	char dir[64];
	char names[64][80];
	int n;
};

static void folder_init(struct folder *f)
{
	*f = (struct folder){ 0 };
	snprintf(f->dir, sizeof(f->dir), "/tmp/cameo-files.XXXXXX");
	assert_non_null(mkdtemp(f->dir));
}

static void folder_fini(struct folder *f)
{
	for (int i = 0; i < f->n; i++)
		(void)unlink(f->names[i]);
	assert_int_equal(rmdir(f->dir), 0);
}

/* Writes LEN bytes of @fill into a file, with @mid in the middle. Returns its path. */
static const char *folder_file(struct folder *f, const char *name, char fill, char mid)
{
	char bytes[LEN], path[80];
	int fd;

	memset(bytes, fill, sizeof(bytes));
	bytes[LEN / 2] = mid;
	snprintf(path, sizeof(path), "%.50s/%.20s", f->dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	close(fd);
	for (int i = 0; i < f->n; i++)
		if (!strcmp(f->names[i], path))
			return f->names[i];
	memcpy(f->names[f->n], path, sizeof(path));
	return f->names[f->n++];
}

static uint32_t find(struct machine *m, const char *path)
{
	struct file_ref ref = machine_file_ref(path, 0x1000);

	return file_table_find(m->files, &ref);
}

static const char marker[] = "a text in this program that copies of it may change";

/* Copies this program; with @change, the copy differs in one byte of its data. */
static const char *folder_copy(struct folder *f, const char *name, bool change)
{
	const char *path = folder_file(f, name, 'x', 'x');
	FILE *from = fopen("/proc/self/exe", "re"), *to = fopen(path, "we");
	size_t len = 0, cap = 64 << 20;
	char *bytes = malloc(cap), *at;

	assert_non_null(from);
	assert_non_null(to);
	assert_non_null(bytes);
	len = fread(bytes, 1, cap, from);
	assert_true(len > 0 && len < cap);
	at = memmem(bytes, len, marker, sizeof(marker));
	assert_non_null(at);
	assert_true(at - bytes > 4096 && at - bytes < (ptrdiff_t)len - 8192);
	if (change)
		*at = 'A';
	assert_int_equal(fwrite(bytes, 1, len, to), len);
	assert_int_equal(fclose(to), 0);
	fclose(from);
	free(bytes);
	return path;
}

static void equal_programs_share_an_id_and_others_do_not(void **state)
{
	struct machine m;
	struct folder f;
	uint32_t a, b, c, text;

	machine_init(&m);
	folder_init(&f);
	a = find(&m, folder_copy(&f, "a", false));
	b = find(&m, folder_copy(&f, "b", false));
	/*
	 * the same build id, size, first and last page: only a comparison of the content
	 * distinguishes them
	 */
	c = find(&m, folder_copy(&f, "c", true));
	text = find(&m, folder_file(&f, "text", 'x', 'x'));
	assert_int_not_equal(a, FILE_ID_NONE);
	assert_int_equal(a, b);
	assert_int_not_equal(a, c);
	assert_int_not_equal(a, text);
	assert_int_equal(file_table_n_live(m.files), 3);
	assert_string_equal(file_table_get(m.files, b)->path, f.names[0]);
	assert_string_equal(file_table_get(m.files, c)->build_id_hex,
			    file_table_get(m.files, a)->build_id_hex);
	assert_false(file_table_get(m.files, text)->is_elf);
	assert_string_equal(file_table_get(m.files, text)->htl_hash, "");
	folder_fini(&f);
	machine_fini(&m);
}

static void a_file_overwritten_in_place_is_another_file(void **state)
{
	struct machine m;
	struct folder f;
	const char *path;
	uint32_t before, after;

	machine_init(&m);
	folder_init(&f);
	path = folder_file(&f, "a", 'x', 'x');
	before = find(&m, path);
	assert_int_equal(find(&m, path), before);
	assert_int_equal(truncate(path, LEN - 1), 0);
	after = find(&m, path);
	assert_int_not_equal(after, FILE_ID_NONE);
	assert_int_not_equal(after, before);
	assert_int_equal(find(&m, path), after);
	folder_fini(&f);
	machine_fini(&m);
}

static void a_replaced_file_can_still_be_read(void **state)
{
	char byte = 0, other[96];
	struct machine m;
	struct folder f;
	const char *path;
	uint32_t before, after;

	machine_init(&m);
	folder_init(&f);
	path = folder_file(&f, "a", 'x', 'x');
	before = find(&m, path);
	snprintf(other, sizeof(other), "%s", folder_file(&f, "b", 'y', 'y'));
	assert_int_equal(rename(other, path), 0);
	after = find(&m, path);
	assert_int_not_equal(after, before);
	assert_int_equal(pread(file_table_get(m.files, before)->fd, &byte, 1, 0), 1);
	assert_int_equal(byte, 'x');
	assert_int_equal(pread(file_table_get(m.files, after)->fd, &byte, 1, 0), 1);
	assert_int_equal(byte, 'y');
	assert_true(file_table_get(m.files, after)->serial >
		    file_table_get(m.files, before)->serial);
	folder_fini(&f);
	machine_fini(&m);
}

static void a_file_is_dropped_after_two_sweeps_without_a_mark(void **state)
{
	struct machine m;
	struct folder f;
	uint32_t kept, gone, again;
	uint64_t serial;

	machine_init(&m);
	folder_init(&f);
	kept = find(&m, folder_file(&f, "kept", 'x', 'x'));
	gone = find(&m, folder_file(&f, "gone", 'y', 'y'));
	serial = file_table_get(m.files, gone)->serial;
	assert_false(file_table_needs_sweep(m.files));
	file_table_mark(m.files, kept);
	file_table_sweep(m.files, 1);
	assert_non_null(file_table_get(m.files, gone));
	file_table_mark(m.files, kept);
	file_table_sweep(m.files, 2);
	assert_null(file_table_get(m.files, gone));
	assert_non_null(file_table_get(m.files, kept));
	assert_int_equal(file_table_n_forgotten(m.files), 1);
	assert_int_equal(file_table_n_live(m.files), 1);
	assert_int_equal(find(&m, f.names[0]), kept);
	again = find(&m, f.names[1]);
	assert_int_not_equal(again, FILE_ID_NONE);
	assert_true(file_table_get(m.files, again)->serial > serial);
	folder_fini(&f);
	machine_fini(&m);
}

/* Opens files until the table refuses one; returns how many it opened. */
static unsigned int open_until_refused(struct machine *m, struct folder *f, uid_t owner)
{
	static unsigned int n_files;
	unsigned int n = 0;

	for (;; n++) {
		char name[16];
		const char *path;
		uint32_t id;

		assert_true(n < 100);
		snprintf(name, sizeof(name), "f%u", n_files++);
		path = folder_file(f, name, (char)n_files, (char)(n_files >> 8));
		assert_int_equal(chown(path, owner, (gid_t)-1), 0);
		id = find(m, path);
		assert_int_not_equal(id, FILE_ID_NONE);
		if (!strcmp(file_table_get(m->files, id)->path, FILE_TABLE_REFUSED))
			return n;
	}
}

static void files_beyond_the_limit_of_descriptors_share_an_id(void **state)
{
	/* files of one user other than root may hold a quarter */
	const unsigned int expected = geteuid() ? 4 : 16;
	struct machine m;
	struct folder f;

	machine_init(&m);
	folder_init(&f);
	file_table_set_limit(m.files, 16);
	assert_int_equal(open_until_refused(&m, &f, geteuid()), expected);
	assert_int_equal(open_until_refused(&m, &f, geteuid()), 0);
	assert_int_equal(file_table_n_refused(m.files), 2);
	/* closing the others makes room */
	file_table_sweep(m.files, 1);
	file_table_sweep(m.files, 2);
	assert_int_equal(open_until_refused(&m, &f, geteuid()), expected);
	folder_fini(&f);
	machine_fini(&m);
}

static void one_user_cannot_exhaust_the_descriptors(void **state)
{
	enum { ONE = 64001, OTHER = 64002 };
	struct machine m;
	struct folder f;

	if (geteuid() != 0) {
		print_message("only root can make files of other users\n");
		skip();
	}
	machine_init(&m);
	folder_init(&f);
	file_table_set_limit(m.files, 16);
	assert_int_equal(open_until_refused(&m, &f, ONE), 4);
	assert_int_equal(open_until_refused(&m, &f, OTHER), 4);
	assert_int_equal(open_until_refused(&m, &f, 0), 8);
	folder_fini(&f);
	machine_fini(&m);
}

/* Copies of one program are one file, but each has a descriptor, and its owner pays for it. */
static void one_user_cannot_exhaust_the_descriptors_by_copies(void **state)
{
	enum { ONE = 64001, SUBORDINATE = 165536, COPIES = 12, SHARE = 4 };
	struct machine m;
	struct folder f;

	if (geteuid() != 0) {
		print_message("only root can make files of other users\n");
		skip();
	}
	for (int subordinate = 0; subordinate < 2; subordinate++) {
		unsigned int n = 0;

		machine_init(&m);
		folder_init(&f);
		file_table_set_limit(m.files, 4 * SHARE);
		for (int i = 0; i < COPIES; i++) {
			char name[16];
			const char *path;
			uint32_t id;

			snprintf(name, sizeof(name), "copy%d", i);
			path = folder_copy(&f, name, false);
			assert_int_equal(chown(path, subordinate ? SUBORDINATE + i : ONE, 0), 0);
			id = find(&m, path);
			n += strcmp(file_table_get(m.files, id)->path, FILE_TABLE_REFUSED) != 0;
		}
		assert_int_equal(n, SHARE);
		assert_int_equal(open_until_refused(&m, &f, 0), 3 * SHARE);
		folder_fini(&f);
		machine_fini(&m);
	}
}

/* The expected hash is computed by sha256sum over the bytes that OpenTelemetry specifies. */
static void an_elf_file_has_the_hash_that_opentelemetry_specifies(void **state)
{
	static const char command[] = "f=/proc/%d/exe; (head -c 4096 $f; tail -c 4096 $f; "
				      "printf '%%016x' $(stat -Lc %%s $f) | "
				      "sed 's/../\\\\x&/g' | xargs -0 printf %%b) | sha256sum";
	const struct file_info *info;
	char line[512], path[64], exe[256];
	struct machine m;
	FILE *p;
	ssize_t n;

	machine_init(&m);
	n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	assert_true(n > 0);
	exe[n] = '\0';
	info = file_table_get(m.files, find(&m, exe));
	assert_true(info->is_elf);
	snprintf(line, sizeof(line), command, (int)getpid());
	p = popen(line, "r");
	assert_non_null(p);
	assert_non_null(fgets(path, sizeof(path), p));
	assert_int_equal(pclose(p), 0);
	assert_int_equal(strlen(info->htl_hash), 32);
	assert_memory_equal(info->htl_hash, path, 32);
	machine_fini(&m);
}

static void only_elf_files_get_unwind_tables(void **state)
{
	struct machine m;
	struct folder f;
	uint32_t text, elf;
	char exe[256];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	assert_true(n > 0);
	exe[n] = '\0';
	machine_init(&m);
	folder_init(&f);
	text = find(&m, folder_file(&f, "text", 'x', 'x'));
	elf = find(&m, exe);
	assert_true(table_maker_need(file_table_maker(m.files), text, UINT64_MAX));
	assert_true(table_maker_need(file_table_maker(m.files), elf, UINT64_MAX));
	assert_int_equal(m.unwind_files[text].state, FILE_TABLE_ABSENT);
	assert_int_not_equal(m.unwind_files[elf].state, FILE_TABLE_NOT_READY);
	assert_int_not_equal(m.unwind_files[elf].state, FILE_TABLE_ABSENT);
	folder_fini(&f);
	machine_fini(&m);
}

enum { CLAIMED_OWNER = 12345 };

/* Opens a file like an opener that had to copy it from a server that claims another owner. */
static int open_copy(void *ctx, const struct regular_file_query *q, struct regular_file_info *out)
{
	int fd = regular_file_find_here(q, out);

	out->is_copy = true;
	out->st.st_uid = CLAIMED_OWNER;
	return fd;
}

static void a_copy_belongs_to_the_user_of_the_process(void **state)
{
	struct mapped_file_context context = { .own_root = -1, .copy_max = 1 << 20 };
	struct mapped_file *file;
	struct file_ref ref;
	struct machine m;
	struct folder f;

	machine_init(&m);
	folder_init(&f);
	context.readers = m.readers;
	ref = machine_file_ref(folder_file(&f, "copied", 'x', 'x'), 0x1000);
	regular_file_set_opener(open_copy, NULL);
	file = mapped_file_open(&context, &ref);
	regular_file_set_opener(NULL, NULL);
	assert_non_null(file);
	assert_true(file->is_copy);
	assert_int_equal(file->st.st_uid, proc_user_of((uint32_t)getpid()));
	mapped_file_free(file);
	folder_fini(&f);
	machine_fini(&m);
}

TEST_GROUP(test_file_table, TEST(a_copy_belongs_to_the_user_of_the_process),
	   TEST(equal_programs_share_an_id_and_others_do_not),
	   TEST(a_file_overwritten_in_place_is_another_file),
	   TEST(a_replaced_file_can_still_be_read),
	   TEST(a_file_is_dropped_after_two_sweeps_without_a_mark),
	   TEST(files_beyond_the_limit_of_descriptors_share_an_id),
	   TEST(one_user_cannot_exhaust_the_descriptors),
	   TEST(one_user_cannot_exhaust_the_descriptors_by_copies),
	   TEST(an_elf_file_has_the_hash_that_opentelemetry_specifies),
	   TEST(only_elf_files_get_unwind_tables))
