/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Surveys the unwind information of a machine: reads every ELF file in the given directories
 * and prints the numbers of rows and distinct rules, the rows that the walk cannot express,
 * with the reason, and the size of the tables.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "elf/eh_frame.h"
#include "elf/image.h"
#include "unwind/cfi.h"
#include "unwind/file_rows.h"
#include "unwind/pages.h"
#include "unwind/rules.h"

enum { KINDS_MAX = 256, KIND_LEN = 120 };

struct kind {
	char name[KIND_LEN];
	unsigned long n;
	char example[256];
};

struct survey {
	unsigned long n_files, n_with_rows, n_bad, n_rows, n_unsupported;
	uint64_t text_bytes, table_bytes, page_rows;
	unsigned long by_cfa[UNWIND_CFA_MAX];
	struct unwind_rules rules;
	struct kind kinds[KINDS_MAX];
	size_t n_kinds;
	const char *path;
	const struct eh_frame *ef;
	const struct eh_frame_fde *fde;
};

static void describe_value(const struct eh_frame *ef, const struct cfi_value *v, char *out,
			   size_t cap)
{
	static const char *const how[] = { "-",      "same",       "undefined",
					   "offset", "val_offset", "register",
					   "expr",   "val_expr",   "out of range" };
	size_t at = (size_t)snprintf(out, cap, "%s", how[v->how]);
	const uint8_t *code;
	size_t len;

	if (v->how == CFI_REGISTER)
		snprintf(out + at, cap - at, " r%u", v->reg);
	if (v->how != CFI_EXPR && v->how != CFI_VAL_EXPR)
		return;
	eh_frame_expression(ef, v, &code, &len);
	for (size_t i = 0; i < len && at + 4 < cap; i++)
		at += (size_t)snprintf(out + at, cap - at, " %02x", code[i]);
}

static int note_unsupported(void *ctx, uint64_t start, uint64_t end, const struct cfi_state *s)
{
	static const char *const column[] = { "rax", "rbx", "rbp", "rsp", "ra" };
	struct survey *sv = ctx;
	struct unwind_rule rule;
	char name[KIND_LEN], part[64];
	size_t at, i;

	if (unwind_cfi_rule(sv->ef, sv->fde, s, &rule))
		return 0;
	describe_value(sv->ef, &s->cfa, part, sizeof(part));
	at = (size_t)snprintf(name, sizeof(name), "cfa %s", part);
	for (i = 0; i < CFI_N_COLUMNS && at < sizeof(name); i++) {
		describe_value(sv->ef, &s->col[i], part, sizeof(part));
		at += (size_t)snprintf(name + at, sizeof(name) - at, ", %s %s", column[i], part);
	}
	for (i = 0; i < sv->n_kinds && strcmp(sv->kinds[i].name, name) != 0; i++)
		;
	if (i == sv->n_kinds) {
		if (i == KINDS_MAX)
			return 0;
		sv->n_kinds++;
		memcpy(sv->kinds[i].name, name, sizeof(name));
		snprintf(sv->kinds[i].example, sizeof(sv->kinds[i].example), "%s %#lx", sv->path,
			 start);
	}
	sv->kinds[i].n++;
	return 0;
}

static void note_kinds(struct survey *sv, const struct elf_image *img)
{
	_cleanup_(eh_frame_fini) struct eh_frame ef = { 0 };
	struct eh_frame_source src;

	if (eh_frame_find(img, &src) < 0)
		return;
	eh_frame_read(&ef, &src, NULL);
	sv->ef = &ef;
	for (size_t i = 0; i < ef.fdes.len; i++) {
		sv->fde = &ef.fdes.data[i];
		eh_frame_run(&ef, sv->fde, note_unsupported, sv, NULL);
	}
}

static void note_tables(struct survey *sv, const struct elf_image *img,
			const struct unwind_rows *rows)
{
	_cleanup_(unwind_pages_fini) struct unwind_pages pages = { 0 };
	const struct elf_segment *segs;
	size_t n = elf_image_segments(img, &segs);

	for (size_t i = 0; i < n; i++)
		sv->text_bytes += segs[i].exec ? segs[i].filesz : 0;
	if (unwind_pages_build(&pages, rows, NULL) < 0)
		return;
	sv->page_rows += pages.rows.len;
	sv->table_bytes += pages.rows.len * sizeof(struct unwind_row) + pages.n_pages * 8ull;
	for (size_t i = 0; i < rows->len; i++)
		sv->by_cfa[unwind_rows_rule(rows, i)->cfa]++;
}

static void survey_file(struct survey *sv, const char *path)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	_cleanup_(unwind_rows_fini) struct unwind_rows rows = { .rules = &sv->rules };
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct err err = { 0 };

	if (fd < 0 || elf_image_open(&img, fd, NULL) < 0 || elf_image_machine(img) != EM_X86_64 ||
	    elf_image_type(img) == ET_REL)
		return;
	sv->path = path;
	sv->n_files++;
	if (unwind_rows_from_file(&rows, img, &err) < 0) {
		sv->n_bad++;
		printf("%s: %s\n", path, err.msg);
	}
	sv->n_with_rows += rows.len > 0;
	sv->n_rows += rows.len;
	sv->n_unsupported += rows.n_unsupported;
	note_tables(sv, img, &rows);
	if (rows.n_unsupported)
		note_kinds(sv, img);
}

static void report(const struct survey *sv)
{
	printf("%lu files, %lu with rows, %lu malformed\n", sv->n_files, sv->n_with_rows,
	       sv->n_bad);
	printf("%lu rows, %lu not expressed (%.4f %%), %u distinct rules of %u\n", sv->n_rows,
	       sv->n_unsupported, 100.0 * (double)sv->n_unsupported / (double)(sv->n_rows + 1),
	       sv->rules.n, UNWIND_RULES_MAX);
	printf("%lu rows in pages; %.1f KiB of table for each MiB of text (%lu MiB)\n",
	       sv->page_rows,
	       (double)sv->table_bytes / 1024 / ((double)(sv->text_bytes + 1) / (1 << 20)),
	       sv->text_bytes >> 20);
	printf("rows by enum unwind_cfa:");
	for (size_t i = 0; i < UNWIND_CFA_MAX; i++)
		printf(" %lu", sv->by_cfa[i]);
	printf("\n");
	for (size_t i = 0; i < sv->n_kinds; i++)
		printf("%8lu  %s  (%s)\n", sv->kinds[i].n, sv->kinds[i].name, sv->kinds[i].example);
}

int main(int argc, char **argv)
{
	static struct unwind_rule array[UNWIND_RULES_MAX];
	static struct survey sv;
	FTSENT *e;
	FTS *fts;

	if (argc < 2 || unwind_rules_init(&sv.rules, array, UNWIND_RULES_MAX) < 0)
		return 2;
	fts = fts_open(argv + 1, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	if (!fts)
		return 1;
	while ((e = fts_read(fts))) {
		if (e->fts_info == FTS_F)
			survey_file(&sv, e->fts_path);
	}
	fts_close(fts);
	report(&sv);
	unwind_rules_fini(&sv.rules);
	return 0;
}
