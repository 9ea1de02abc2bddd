/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects CPython 3.6 to 3.15. A file is CPython if it defines _PyEval_EvalFrameDefault, which is
 * exported for extension modules. The minor version is in Py_Version (from 3.11 on), or else in the
 * tag of byte-code files, "cpython-39". The file alone is sufficient: no process is read.
 *
 * PyPy and older versions of CPython are reported as unsupported.
 */
#include "lang/python/python.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "elf/gnuhash.h"
#include "elf/image.h"
#include "elf/rawsym.h"
#include "lang/find.h"

#define LOOP "_PyEval_EvalFrameDefault"

enum { DEBUG_OFFSETS_MAX = 1024 };

/* Returns the minor version in the text "cpython-3MINOR"; 0 if there is none. */
static unsigned int minor_from_tag(const struct elf_image *img)
{
	unsigned int minor = 0;
	char text[3];

	if (lang_find_text(img, "cpython-3", text, sizeof(text)) == 0)
		(void)sscanf(text, "%2u", &minor);
	return minor;
}

/* Returns the minor version; 0 if it is unknown. */
static unsigned int find_minor(const struct elf_image *img)
{
	struct elf_rawsym sym;
	struct elf_span span;
	uint32_t version;

	if (elf_gnuhash_lookup(img, "Py_Version", &sym) == 0 &&
	    elf_image_at_vaddr(img, sym.vaddr, sizeof(version), &span) == 0) {
		memcpy(&version, span.data, sizeof(version));
		if (version >> 24 == 3)
			return version >> 16 & 0xff;
	}
	return minor_from_tag(img);
}

/*
 * Finds the address of the pointer to the first interpreter in 3.6, which has no _PyRuntime. The
 * code of PyInterpreterState_Head() contains it: [endbr64;] mov disp(%rip), %rax; ret.
 */
static int find_head_36(const struct elf_image *img, uint64_t *out)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa }, mov[] = { 0x48, 0x8b, 0x05 };
	struct elf_rawsym sym;
	struct elf_span span;
	int32_t disp;
	size_t at;

	if (elf_gnuhash_lookup(img, "PyInterpreterState_Head", &sym) < 0 ||
	    elf_image_at_vaddr(img, sym.vaddr, 12, &span) < 0)
		return -ENOENT;
	at = !memcmp(span.data, endbr, sizeof(endbr)) ? sizeof(endbr) : 0;
	if (memcmp(span.data + at, mov, sizeof(mov)) != 0 || span.data[at + 7] != 0xc3)
		return -ENOENT;
	memcpy(&disp, span.data + at + 3, sizeof(disp));
	*out = sym.vaddr + at + 7 + (uint64_t)(int64_t)disp;
	return 0;
}

static int find_offsets(const struct elf_image *img, unsigned int minor, struct python_vm *out)
{
	struct elf_rawsym sym;
	struct elf_span span = { 0 };
	uint64_t runtime;
	int r;

	if (minor == 6) {
		r = find_head_36(img, &runtime);
		if (r < 0)
			return r;
	} else {
		if (elf_gnuhash_lookup(img, "_PyRuntime", &sym) < 0)
			return -ENODATA;
		runtime = sym.vaddr;
		if (minor >= 13) /* without the table, the result is -EBADMSG */
			(void)elf_image_at_vaddr(img, runtime, DEBUG_OFFSETS_MAX, &span);
	}
	return python_offsets(out, minor, runtime, span.data, span.len);
}

/*
 * Detects PyPy, and CPython before 3.6, whose loop was PyEval_EvalFrameEx(). Newer versions define
 * that as well, so the caller has excluded them.
 */
static int detect_other(const struct elf_image *img, struct lang_detected *d)
{
	struct elf_rawsym sym;

	if (elf_gnuhash_lookup(img, "pypy_execute_source", &sym) == 0 && sym.vaddr) {
		d->runtime = "PyPy";
		d->problem = "PyPy cannot be read";
		return -ENOTSUP;
	}
	if (elf_gnuhash_lookup(img, "PyEval_EvalFrameEx", &sym) < 0 || !sym.vaddr)
		return -ENOENT;
	d->runtime = "Python";
	d->problem = "too old";
	snprintf(d->version, sizeof(d->version), "before 3.6");
	(void)lang_set_loop(img, &sym, d);
	return -ENOTSUP;
}

int python_detect(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
		  struct lang_detected *d)
{
	struct elf_rawsym loop;
	unsigned int minor;
	struct python_vm py;
	int r;

	if (elf_gnuhash_lookup(img, LOOP, &loop) < 0)
		return detect_other(img, d);
	minor = find_minor(img);
	d->runtime = "Python";
	snprintf(d->version, sizeof(d->version), "3.%u", minor);
	r = lang_set_loop(img, &loop, d);
	if (r == 0)
		r = find_offsets(img, minor, &py);
	if (r < 0) {
		d->problem = r == -EBADMSG   ? "its table of offsets was not recognized"
			     : r == -ENODATA ? LANG_NO_STATE
					     : NULL;
		return -ENOTSUP;
	}
	tables->python[vm] = py;
	return 0;
}

const struct lang python_lang = {
	.name_part = "python",
	.is_portable = true,
	.may_hold_foreign = true, /* with greenlet */
	.trampolines = true,      /* with -X perf */
	.detect = python_detect,
	.read = python_read,
	.line = python_line,
};
