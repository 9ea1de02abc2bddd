/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a function of PHP 7.3 to 8.5 (zend_function in Zend/zend_compile.h). The names of the
 * function, its class and its file are zend_strings, which are read with bounds. Code outside of
 * functions is named after its file. The cookie is compared again at the end, because the process
 * may free the function meanwhile.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lang/find.h"
#include "lang/php/php.h"

enum {
	USER = 2, /* types of functions, next to PHP_INTERNAL */
	EVAL = 4,
};

/* Reads a zend_string; the caller frees *@out. */
static int read_string(const struct lang_process *p, uint64_t addr, char **out)
{
	uint64_t len;

	if (!addr || lang_read_u64(p, addr + PHP_STRING_LEN, &len) < 0)
		return -EFAULT;
	return lang_read_text(p, addr + PHP_STRING_TEXT, len, out);
}

/*
 * Names a function: CLASS::NAME, NAME, or <FILE> for a file's own code. out->file has been read. A
 * fiber's outermost frame has neither a name nor a file.
 */
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
	if (scope && lang_read_u64(p, scope + PHP_CLASS_NAME, &class_at) == 0)
		(void)read_string(p, class_at, &class);
	if (!class)
		out->name = steal_ptr(&name);
	else if (asprintf(&out->name, "%s::%s", class, name) < 0)
		out->name = NULL;
	return out->name ? 0 : -ENOMEM;
}

/* Return: 0, or -ESTALE if the function at @addr is not the one that the sample saw. */
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

/* Reads file, first line and name; @out owns what was read, on errors as well. */
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
