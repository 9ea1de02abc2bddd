/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the time to build the unwind table of a file, the time that libdw needs to compute
 * the same rows in the same run, and the size of the table. Each figure is the best of RUNS,
 * with the file in the page cache.
 */
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <libelf.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "elf/eh_frame.h"
#include "elf/image.h"
#include "unwind/file_rows.h"
#include "unwind/pages.h"
#include "unwind/rules.h"

enum { RUNS = 5 };

struct figures {
	double rows_ms, pages_ms, libdw_ms;
	size_t n_rows, n_page_rows, n_rules, n_libdw;
	size_t cfi_bytes, text_bytes, table_bytes;
};

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double best(double a, double b)
{
	return !a || b < a ? b : a;
}

/* Opens the file and builds its rows and pages, as the agent does for every new file. */
static int measure_ours(int fd, struct unwind_rows *rows, struct figures *f, struct err *err)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	_cleanup_(unwind_pages_fini) struct unwind_pages pages = { 0 };
	double start = now_ms(), mid;
	int r = elf_image_open(&img, fd, err);

	if (!r)
		r = unwind_rows_from_file(rows, img, err);
	mid = now_ms();
	if (!r)
		r = unwind_pages_build(&pages, rows, err);
	if (r < 0)
		return r;
	f->rows_ms = best(f->rows_ms, mid - start);
	f->pages_ms = best(f->pages_ms, now_ms() - mid);
	f->n_rows = rows->len;
	f->n_page_rows = pages.rows.len;
	f->n_rules = rows->rules->n;
	f->table_bytes = pages.rows.len * sizeof(struct unwind_row) + pages.start.len * 4;
	return 0;
}

/*
 * Has libdw compute the CFA and the registers for each row, that is, each address range with one
 * rule.
 */
static void measure_libdw(int fd, const struct elf_image *img, const struct unwind_rows *rows,
			  struct figures *f)
{
	double start = now_ms();
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	Dwarf_CFI *cfi = dwarf_getcfi_elf(elf);

	f->n_libdw = 0;
	for (size_t i = 0; cfi && i < rows->len; i++) {
		Dwarf_Op mem[3], *ops;
		Dwarf_Frame *frame = NULL;
		Dwarf_Addr at;
		size_t n;

		if (rows->data[i].rule == UNWIND_RULE_NONE ||
		    elf_image_vaddr_of(img, rows->data[i].file_off, &at) < 0 ||
		    dwarf_cfi_addrframe(cfi, at, &frame) < 0)
			continue;
		dwarf_frame_cfa(frame, &ops, &n);
		dwarf_frame_register(frame, 16, mem, &ops, &n);
		dwarf_frame_register(frame, 6, mem, &ops, &n);
		dwarf_frame_register(frame, 3, mem, &ops, &n);
		free(frame);
		f->n_libdw++;
	}
	dwarf_cfi_end(cfi);
	elf_end(elf);
	f->libdw_ms = best(f->libdw_ms, now_ms() - start);
}

static void measure_sizes(const struct elf_image *img, struct figures *f)
{
	const struct elf_segment *segs;
	size_t n = elf_image_segments(img, &segs);
	struct eh_frame_source src;

	for (size_t i = 0; i < n; i++)
		f->text_bytes += segs[i].exec ? segs[i].filesz : 0;
	if (eh_frame_find(img, &src) == 0)
		f->cfi_bytes = src.span.len;
}

static int bench_file(const char *path)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct figures f = { 0 };
	struct err err = { 0 };

	if (fd < 0 || elf_image_open(&img, fd, &err) < 0)
		return 0; /* not installed */
	measure_sizes(img, &f);
	for (int i = 0; i < RUNS; i++) {
		_cleanup_(unwind_rows_fini) struct unwind_rows rows = { 0 };

		if (measure_ours(fd, &rows, &f, &err) < 0) {
			fprintf(stderr, "%s: %s\n", path, err.msg);
			return 1;
		}
		if (i < 2)
			measure_libdw(fd, img, &rows, &f);
	}
	printf("%-28.28s %8zu %8.2f %6.1f %6.1f %7.2f %8.2f %6.1fx %6zu %8zu %7.1f\n",
	       strrchr(path, '/') + 1, f.n_rows, f.rows_ms, (double)f.n_rows / f.rows_ms / 1e3,
	       (double)f.cfi_bytes / f.rows_ms / 1e3, f.pages_ms, f.libdw_ms,
	       f.libdw_ms / f.rows_ms, f.n_rules, f.n_page_rows,
	       (double)f.table_bytes / 1024 / ((double)f.text_bytes / (1 << 20)));
	return 0;
}

int main(int argc, char **argv)
{
	int r = 0;

	elf_version(EV_CURRENT);
	printf("%-28s %8s %8s %6s %6s %7s %8s %7s %6s %8s %7s\n", "file", "rows", "ms", "Mrow/s",
	       "MB/s", "pages", "libdw ms", "ratio", "rules", "paged", "KiB/MiB");
	for (int i = 1; i < argc; i++)
		r |= bench_file(argv[i]);
	return r;
}
