/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the code of a file that has no unwind information: the parts of its executable sections
 * without rows, except padding. If most of the text has CFI, such code is assembly, data in
 * between, or many objects that were compiled without CFI (busybox with a static libc). V8's
 * builtins jump to each other within the frame of their caller, and keep frame pointers instead.
 * Haskell's code is not analysed but gets known rules.
 * Files without section headers are not analysed, as their segments may hold data among the code.
 */
#include "unwind/gaps.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "elf/function_extents.h"
#include "elf/image.h"
#include "elf/rawsym.h"
#include "unwind/haskell.h"
#include "unwind/rows.h"
#include "unwind/sweep.h"

enum {
	LONE_SURE =
		128, /* a longer gap is more than the part of a function whose CFI has no rule */
	OBJECTS_MIN = 64 << 10, /* a gap of this many bytes without CFI is longer than any assembly
				   function */
	OBJECTS_MAX = 1 << 20,  /* a larger gap is data, or keeps frame pointers as browsers do */
	/*
	 * Bytes of code to sweep in a file: their states take four times as much of a reader's
	 * memory. A file with more code without CFI is a browser too, such as Chromium of Debian 13
	 * with 258 MiB; its frame pointers are followed.
	 */
	SWEEP_BYTES_MAX = 24 << 20,
};

struct finder {
	struct unwind_sweep *sw;
	struct unwind_rows *haskell_rows;
	const struct unwind_rows *rows;
	const struct elf_image *img;
	struct function_extents *extents; /* NULL until a short gap was met */
	uint64_t skip_lo, skip_hi;
	bool lacks_cfi;              /* most of the file's text has no CFI */
	bool all, unswept;           /* as in struct unwind_rows */
	bool v8, v8_asked;           /* the file is V8's; whether that was looked up */
	bool haskell, haskell_asked; /* the same for GHC's */
	bool plt;                    /* the current section is a PLT */
	bool lone;                   /* its gaps are between functions with CFI */
};

static bool is_v8(struct finder *f)
{
	static const char name[] = "v8dbg_SmiTag";
	struct elf_rawsym sym;

	if (!f->v8_asked)
		f->v8 = elf_symbol_lookup(f->img, ELF_DYNSYM, name, &sym) == 0 ||
			elf_symbol_lookup(f->img, ELF_SYMTAB, name, &sym) == 0;
	f->v8_asked = true;
	return f->v8;
}

/* True if the current section's code without CFI is GHC's. */
static bool is_haskell(struct finder *f)
{
	if (f->plt)
		return false;
	if (!f->haskell_asked)
		f->haskell = unwind_is_haskell(f->img, f->rows);
	f->haskell_asked = true;
	return f->haskell;
}

/* True for GraalVM's native images: megabytes without CFI, all from one compiler. */
static bool is_native_image(const struct elf_image *img)
{
	uint32_t index;

	return elf_image_section_index(img, ".svm_heap", &index) == 0;
}

/*
 * Sets *@out if the gap at @lo is not a part of a function with CFI, such as the end of longjmp(),
 * where CFI has no rule either. Long gaps are none.
 */
static int is_between_functions(struct finder *f, uint64_t lo, uint64_t len, bool *out)
{
	uint64_t vaddr;
	int r;

	*out = true;
	if (len >= LONE_SURE || elf_image_vaddr_of(f->img, lo, &vaddr) < 0)
		return 0;
	r = f->extents ? 0 : function_extents_new(&f->extents, f->img);
	*out = r == 0 && !function_extents_in_eh_frame(f->extents, vaddr);
	return r;
}

/* A gap between functions with CFI, which is analysed on demand. */
static int add_lone(struct finder *f, uint64_t lo, uint64_t len)
{
	bool between;
	int r;

	if ((!f->all && f->unswept) || !unwind_sweep_is_code(f->img, lo, len))
		return 0;
	r = is_between_functions(f, lo, len, &between);
	if (r < 0 || !between)
		return r;
	f->unswept = !f->all;
	if (!f->all || (len >= OBJECTS_MIN && (len > OBJECTS_MAX || is_v8(f))))
		return 0;
	/* functions in assembly are mostly called by pointers alone */
	return unwind_sweep_add_gap(f->sw, f->img, lo, len, !is_v8(f));
}

static int add(struct finder *f, uint64_t lo, uint64_t hi)
{
	uint64_t len = hi - lo;

	if (lo >= hi || len < UNWIND_SWEEP_GAP_MIN)
		return 0;
	if (f->lone && (!f->all || !is_haskell(f)))
		return add_lone(f, lo, len);
	if (is_haskell(f))
		return f->lone && len < LONE_SURE
			       ? 0
			       : unwind_haskell_rows(f->haskell_rows, f->img, lo, hi);
	return unwind_sweep_add_gap(f->sw, f->img, lo, len, f->lacks_cfi);
}

static int add_outside_of_skipped(struct finder *f, uint64_t lo, uint64_t hi)
{
	int r;

	if (f->skip_lo >= f->skip_hi || hi <= f->skip_lo || lo >= f->skip_hi)
		return add(f, lo, hi);
	r = add(f, lo, f->skip_lo);
	return r ? r : add(f, f->skip_hi, hi);
}

/* Adds the gaps between the rows in the file's [@lo, @hi). */
static int find_gaps(struct finder *f, uint64_t lo, uint64_t hi)
{
	const struct unwind_rows *rows = f->rows;
	size_t i = unwind_rows_until(rows, lo);
	int r = 0;

	while (!r && lo < hi) {
		uint64_t end = i < rows->len ? rows->data[i].file_off : UINT64_MAX;
		uint16_t rule = i ? rows->data[i - 1].rule : UNWIND_RULE_NONE;

		if (end > hi)
			end = hi;
		if (rule == UNWIND_RULE_NONE || rule == UNWIND_RULE_FP)
			r = add_outside_of_skipped(f, lo, end);
		lo = end;
		i++;
	}
	return r;
}

/* True if section @i is executable and holds bytes of the file. */
static bool is_text(const struct elf_image *img, uint32_t i, struct elf_section *out)
{
	return elf_image_section_header(img, i, out) == 0 && (out->flags & SHF_EXECINSTR) &&
	       out->type == SHT_PROGBITS && out->file_off + out->size > out->file_off;
}

static bool is_plt(const struct elf_image *img, uint32_t i)
{
	static const char *const names[] = { ".plt", ".plt.sec", ".plt.got" };
	uint32_t index;

	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
		if (elf_image_section_index(img, names[n], &index) == 0 && index == i)
			return true;
	return false;
}

/* True if most of the text has no CFI. */
static bool lacks_cfi(const struct finder *f, uint64_t covered)
{
	struct elf_section s;
	uint64_t text = 0;

	for (uint32_t i = 0; i < elf_image_n_sections(f->img); i++)
		text += is_text(f->img, i, &s) ? s.size : 0;
	return covered + (f->skip_hi - f->skip_lo) <= text / 2;
}

static int find_in_sections(struct finder *f)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < elf_image_n_sections(f->img); i++) {
		struct elf_section s;

		if (!is_text(f->img, i, &s))
			continue;
		f->plt = is_plt(f->img, i);
		f->lone = !f->lacks_cfi && !f->plt;
		r = find_gaps(f, s.file_off, s.file_off + s.size);
	}
	return r;
}

int unwind_gap_rows(struct unwind_rows *out, const struct unwind_rows *rows,
		    const struct elf_image *img, uint64_t covered, uint64_t skip_lo,
		    uint64_t skip_hi)
{
	_cleanup_(unwind_rows_fini) struct unwind_rows haskell = { .rules = out->rules };
	_cleanup_(unwind_sweep_fini) struct unwind_sweep sw = { 0 };
	struct finder f = { .sw = &sw,
			    .haskell_rows = &haskell,
			    .rows = rows,
			    .img = img,
			    .skip_lo = skip_lo,
			    .skip_hi = skip_hi,
			    .all = out->sweep_all };
	int r;

	f.lacks_cfi = lacks_cfi(&f, covered);
	sw.one_frame = is_native_image(img);
	sw.referenced = f.all && !f.lacks_cfi;
	r = find_in_sections(&f);
	function_extents_free(f.extents);
	out->unswept = f.unswept;
	if (!r && sw.n_bytes <= SWEEP_BYTES_MAX)
		r = unwind_sweep_run(&sw, img);
	if (!r && sw.states)
		r = unwind_sweep_rows(&sw, out);
	return r ? r : unwind_rows_overlay(out, &haskell);
}
