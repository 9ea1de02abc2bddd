/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A function of PHP: its name, its class's and its file's are zend_strings,
 * read with bounds. Code outside of functions is named after its file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/find.h"
#include "lang/php/php.h"

enum { STRING_LEN = 16, STRING_TEXT = 24, CLASS_NAME = 8, USER = 2, EVAL = 4 };

static int read_string(const struct lang_process *p, uint64_t addr, char **out)
{
	uint64_t len;

	if (!addr || lang_read_u64(p, addr + STRING_LEN, &len) < 0)
		return -EFAULT;
	return lang_read_text(p, addr + STRING_TEXT, len, out);
}

/* CLASS::NAME; the code of a file: <FILE>. out->file is there already. */
static int make_name(const struct lang_process *p, uint64_t addr, struct lang_function *out)
{
	_cleanup_(freep) char *class = NULL, *name = NULL;
	uint64_t name_at, scope, class_at;
	const char *base;
	int r;

	if (lang_read_u64(p, addr + PHP_FUNC_NAME, &name_at) < 0 ||
	    lang_read_u64(p, addr + PHP_FUNC_SCOPE, &scope) < 0)
		return -EFAULT;
	if (!name_at && !*out->file) {
		out->name = strdup("{fiber}");
		return out->name ? 0 : -ENOMEM;
	}
	if (!name_at) {
		base = strrchr(out->file, '/');
		return asprintf(&out->name, "<%s>", base ? base + 1 : out->file) < 0 ? -ENOMEM : 0;
	}
	r = read_string(p, name_at, &name);
	if (r < 0)
		return r;
	if (scope && lang_read_u64(p, scope + CLASS_NAME, &class_at) == 0)
		(void)read_string(p, class_at, &class);
	if (!class)
		out->name = steal_ptr(&name);
	else if (asprintf(&out->name, "%s::%s", class, name) < 0)
		out->name = NULL;
	return out->name ? 0 : -ENOMEM;
}

static int check_cookie(const struct php_vm *php, const struct lang_process *p, uint64_t addr,
			uint8_t type, uint32_t cookie)
{
	uint64_t head[PHP_FUNC_BYTES / 8], file[2] = { 0 };

	if (p->read(p->ctx, addr, head, sizeof(head)) ||
	    (type != PHP_INTERNAL &&
	     p->read(p->ctx, addr + php->func_filename, file, sizeof(file))))
		return -ESTALE;
	return lang_check_cookie(cookie, type == PHP_INTERNAL ? PHP_HEAD_BYTES(head[1], head[2])
							      : PHP_COOKIE_BYTES(head[1], head[2],
										 file[0], file[1]));
}

static int read_parts(const struct php_vm *php, const struct lang_process *p, uint64_t addr,
		      uint8_t type, struct lang_function *out)
{
	uint64_t file;

	if (type != PHP_INTERNAL) {
		if (lang_read_u64(p, addr + php->func_filename, &file) < 0 ||
		    p->read(p->ctx, addr + php->func_filename + 8, &out->first_line,
			    sizeof(out->first_line)) ||
		    read_string(p, file, &out->file) < 0)
			return -ESTALE;
		if (out->first_line > INT32_MAX)
			out->first_line = 0;
	} else {
		out->file = strdup("");
		if (!out->file)
			return -ENOMEM;
	}
	return make_name(p, addr, out);
}

int php_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
	     uint64_t addr, uint32_t cookie, struct lang_function *out)
{
	const struct php_vm *php = &tables->php[vm];
	uint8_t type;
	int r;

	if (p->read(p->ctx, addr, &type, sizeof(type)))
		return -EFAULT;
	if (type != PHP_INTERNAL && type != USER && type != EVAL)
		return -ESTALE;
	r = check_cookie(php, p, addr, type, cookie);
	if (r == 0)
		r = read_parts(php, p, addr, type, out);
	if (r == 0)
		r = check_cookie(php, p, addr, type, cookie);
	return r == 0 || r == -ENOMEM ? r : -ESTALE;
}
