/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a code object of CPython 3.6 to 3.15 (Include/cpython/code.h, unicodeobject.h) from a
 * process that may be writing to it or may be hostile: every length is bounded, and the cookie is
 * compared again at the end. Strings are converted to UTF-8; characters that are not printable or
 * not valid become '?'.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "lang/find.h"
#include "lang/python/python.h"

/* Appends one character; control characters, surrogates and line separators become '?'. */
static void put_utf8(struct buf *b, uint32_t c)
{
	if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c > 0x10ffff ||
	    (c >= 0xd800 && c < 0xe000)) {
		buf_put_byte(b, '?');
	} else if (c < 0x80) {
		buf_put_byte(b, (uint8_t)c);
	} else if (c < 0x800) {
		buf_put_byte(b, (uint8_t)(0xc0 | c >> 6));
		buf_put_byte(b, (uint8_t)(0x80 | (c & 0x3f)));
	} else {
		if (c < 0x10000) {
			buf_put_byte(b, (uint8_t)(0xe0 | c >> 12));
		} else {
			buf_put_byte(b, (uint8_t)(0xf0 | c >> 18));
			buf_put_byte(b, (uint8_t)(0x80 | (c >> 12 & 0x3f)));
		}
		buf_put_byte(b, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
		buf_put_byte(b, (uint8_t)(0x80 | (c & 0x3f)));
	}
}

static uint32_t char_at(const uint8_t *text, size_t i, uint32_t width)
{
	uint32_t c = 0;

	memcpy(&c, text + i * width, width);
	return c;
}

/*
 * Reads the text of a compact string, at most LANG_NAME_MAX characters of it. The caller frees
 * *@out. Return: 0, -EFAULT, -EBADMSG if it is not such a string, or -ENOMEM.
 */
static int read_string(const struct python_vm *py, const struct lang_process *p, uint64_t addr,
		       char **out)
{
	uint64_t length, state, data;
	uint8_t text[4 * LANG_NAME_MAX];
	uint32_t last = 0;
	struct buf b = { 0 };
	uint32_t width;

	if (!addr || lang_read_u64(p, addr + py->object, &length) < 0 ||
	    lang_read_u64(p, addr + py->object + PYTHON_STRING_STATE, &state) < 0)
		return -EFAULT;
	state >>= py->kind_shift;
	width = (uint32_t)state & PYTHON_STRING_KIND;
	if (!(state & PYTHON_STRING_COMPACT) || (width != 1 && width != 2 && width != 4))
		return -EBADMSG;
	data = addr + python_text_at(py, state);
	/*
	 * a string is followed by a zero; in memory that was reused, the length rarely leads to one
	 */
	if (length >> 32 || p->read(p->ctx, data + length * width, &last, width) || last)
		return -EBADMSG;
	if (length > LANG_NAME_MAX)
		length = LANG_NAME_MAX;
	if (p->read(p->ctx, data, text, length * width))
		return -EFAULT;
	for (size_t i = 0; i < length; i++)
		put_utf8(&b, char_at(text, i, width));
	buf_put_byte(&b, '\0');
	if (buf_error(&b)) {
		buf_fini(&b);
		return -ENOMEM;
	}
	*out = (char *)b.data;
	return 0;
}

/* Reads the line table, a bytes object, but ignores one that is implausibly long. */
static int read_lines(const struct python_vm *py, const struct lang_process *p, uint64_t addr,
		      struct lang_function *out)
{
	uint64_t len;

	if (!addr || lang_read_u64(p, addr + py->object, &len) < 0)
		return -EFAULT;
	if (!len || len > LANG_LINES_MAX)
		return 0;
	out->lines = malloc(len);
	if (!out->lines)
		return -ENOMEM;
	if (p->read(p->ctx, addr + py->object + PYTHON_BYTES_DATA, out->lines, len))
		return -EFAULT;
	out->n_lines = (uint32_t)len;
	return 0;
}

/* Returns true if the type of the object at @addr has @name. */
static bool is_of_type(const struct python_vm *py, const struct lang_process *p, uint64_t addr,
		       const char *name)
{
	uint64_t type, at;
	char text[16];
	size_t len = strlen(name) + 1;

	/* ob_type is the last field of a PyObject; tp_name follows the type's own PyVarObject */
	return lang_read_u64(p, addr + py->object - 8, &type) == 0 &&
	       lang_read_u64(p, type + py->object + PYTHON_TYPE_NAME, &at) == 0 &&
	       len <= sizeof(text) && p->read(p->ctx, at, text, len) == 0 &&
	       !memcmp(text, name, len);
}

/* Return: 0; -ESTALE if the code object is not the one that the sample saw; -EFAULT. */
static int check_cookie(const struct python_vm *py, const struct lang_process *p, uint64_t addr,
			uint32_t cookie)
{
	__u64 words[PYTHON_COOKIE_WORDS];

	if (p->read(p->ctx, python_cookie_at(py, addr), words, sizeof(words)))
		return -EFAULT;
	return lang_check_cookie(cookie, python_cookie_of(words));
}

/* Reads names, file and lines; @out owns what was read, on errors as well. */
static int read_parts(const struct python_vm *py, const struct lang_process *p, uint64_t addr,
		      struct lang_function *out)
{
	uint64_t name, file, lines;
	uint32_t first;
	int r;

	if (p->read(p->ctx, addr + py->code_first_line, &first, sizeof(first)) ||
	    lang_read_u64(p, addr + python_name_at(py), &name) < 0 ||
	    lang_read_u64(p, addr + py->code_filename, &file) < 0 ||
	    lang_read_u64(p, addr + py->code_lines, &lines) < 0)
		return -EFAULT;
	out->first_line = first < INT32_MAX ? first : 0;
	out->bytecode = py->code_bytecode;
	out->version = py->minor;
	r = read_string(py, p, name, &out->name);
	if (r == 0)
		r = read_string(py, p, file, &out->file);
	if (r < 0)
		return r;
	r = read_lines(py, p, lines, out);
	/* a copy lacks a long table */
	return r == -EFAULT && p->is_copy ? 0 : r;
}

int python_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
		uint64_t addr, uint32_t cookie, struct lang_function *out)
{
	const struct python_vm *py = &tables->python[vm];
	int r = check_cookie(py, p, addr, cookie);

	if (r < 0)
		return r;
	if (!is_of_type(py, p, addr, "code"))
		return -ESTALE;
	r = read_parts(py, p, addr, out);
	if (r == 0)
		r = check_cookie(py, p, addr, cookie);
	/* an invalid pointer means that the object was freed */
	return r == 0 || r == -ENOMEM ? r : -ESTALE;
}
