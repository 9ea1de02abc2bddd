/* SPDX-License-Identifier: Apache-2.0 */
/* Go's function table is exact, so its rows replace all others in Go's text. */
#include "unwind/file_rows.h"

#include <errno.h>

#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "elf/image.h"
#include "unwind/cfi_rows.h"
#include "unwind/code_rows.h"
#include "unwind/go.h"
#include "unwind/special_code.h"

static const struct unwind_rule rule_none = { .cfa = UNWIND_CFA_NONE };

/* The rows from Go's function table, for [lo, hi) of the file. */
struct go_rows {
	struct unwind_rows rows;
	uint64_t lo, hi;
};

static void go_rows_fini(struct go_rows *go)
{
	unwind_rows_fini(&go->rows);
}

static int go_rows_read(struct go_rows *go, const struct elf_image *img, struct err *err)
{
	struct err why = { 0 };
	int r = unwind_go_rows(&go->rows, img, &go->lo, &go->hi, &why);

	return r < 0 && r != -ENOENT ? err_set(err, r, "%s", why.msg) : 0;
}

/* Replaces all other rows in Go's text. */
static int put_go_rows(struct unwind_rows *rows, const struct go_rows *go)
{
	if (go->lo >= go->hi)
		return 0;
	rows->n_unsupported += go->rows.n_unsupported;
	return unwind_rows_splice(rows, go->lo, go->hi, go->rows.data, go->rows.len);
}

static int rows_build(struct unwind_rows *rows, const struct elf_image *img,
		      const struct elf_image *cfi, struct err *err)
{
	_cleanup_(go_rows_fini) struct go_rows go = { 0 };
	struct unwind_special_code known = { 0 };
	uint64_t covered = 0;
	uint16_t none;
	int bad_go, bad, r;

	if (elf_image_machine(img) != ARCH_ELF_MACHINE)
		return 0;
	r = unwind_rows_intern(rows, &rule_none, &none);
	if (r < 0)
		return r;
	go.rows.rules = rows->rules;
	bad_go = go_rows_read(&go, img, err);
	if (bad_go < 0 && bad_go != -EBADMSG)
		return bad_go;
	unwind_special_code_find(&known, img);
	bad = unwind_cfi_rows(rows, img, cfi, &known, &covered, err);
	if (bad < 0 && bad != -EBADMSG)
		return bad;
	r = unwind_code_rows(rows, img, &known, covered, go.lo, go.hi);
	if (!r)
		r = put_go_rows(rows, &go);
	if (r == -E2BIG)
		err_set(err, r, "more than %d unwind rows", UNWIND_ROWS_MAX);
	return r ? r : bad ? bad : bad_go;
}

int unwind_rows_from_file(struct unwind_rows *rows, const struct elf_image *img, struct err *err)
{
	return rows_build(rows, img, img, err);
}

int unwind_rows_from_debug_file(struct unwind_rows *rows, const struct elf_image *img,
				const struct elf_image *debug, struct err *err)
{
	return rows_build(rows, img, debug, err);
}
