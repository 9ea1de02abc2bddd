/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a function is called: as the debugger does, by its own name, by the one that the
 * parser inferred where it has none, and with its class's where the parser knew that; else by
 * its place. Nothing of what is read is trusted, and the cookie is compared again at the
 * end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "lang/v8/heap.h"
#include "lang/v8/reader.h"

static int take_string(struct buf *b, char **out)
{
	buf_put_byte(b, '\0');
	if (buf_error(b)) {
		buf_fini(b);
		return -ENOMEM;
	}
	*out = (char *)b->data;
	return 0;
}

/* The string's text; "" where there is none. */
static int read_string(const struct v8_heap *h, uint64_t object, char **out)
{
	struct buf b = { 0 };
	int r = object ? v8_put_string(h, object, &b) : 0;

	if (r < 0) {
		buf_fini(&b);
		return r;
	}
	return take_string(&b, out);
}

/* Does @inferred say what @name is a part of: "Class.name"? */
static bool extends(const char *inferred, const char *name)
{
	size_t n = strlen(name), all = strlen(inferred);

	return all > n + 1 && inferred[all - n - 1] == '.' && !strcmp(inferred + all - n, name);
}

/* "(anonymous app.js:12)"; a function of V8's own by its builtin. */
static int put_anonymous(const struct v8_heap *h, uint64_t shared, const struct lang_function *f,
			 char **out)
{
	const char *slash = strrchr(f->file, '/');
	const char *base = slash && slash[1] ? slash + 1 : f->file;
	struct buf b = { 0 };
	int32_t n;

	if (!*base && v8_get_smi(h, shared + h->shape.shared_builtin, &n) == 0) {
		v8_put_builtin(h, n, &b);
		return take_string(&b, out);
	}
	buf_put_str(&b, "(anonymous");
	if (*base)
		buf_printf(&b, " %s", base);
	if (*base && f->first_line)
		buf_printf(&b, ":%u", f->first_line);
	buf_put_byte(&b, ')');
	return take_string(&b, out);
}

/* "Class.name" of a method; its constructor has the class's name already. */
static int add_class(const struct v8_heap *h, const struct v8_function *f, char **name)
{
	struct buf b = { 0 };
	int r = v8_put_class(h, f, &b);

	if (r < 0 || !b.len || buf_error(&b) ||
	    (b.len == strlen(*name) && !memcmp(b.data, *name, b.len))) {
		buf_fini(&b);
		return r;
	}
	buf_put_byte(&b, '.');
	buf_put_str(&b, *name);
	free(*name);
	*name = NULL;
	return take_string(&b, name);
}

static int read_name(const struct v8_heap *h, uint64_t shared, const struct v8_function *f,
		     struct lang_function *out)
{
	char *name = NULL, *inferred = NULL;
	int r = read_string(h, f->name, &name);

	if (r == 0)
		r = read_string(h, f->inferred, &inferred);
	if (r == 0 && *inferred && (!*name || extends(inferred, name))) {
		out->name = inferred;
		inferred = NULL;
	} else if (r == 0 && *name && !f->script && !name[strspn(name, "0123456789")]) {
		/* what JavaScript calls a function of WebAssembly by is called as its number */
		out->name = strdup("js-to-wasm");
		r = out->name ? 0 : -ENOMEM;
	} else if (r == 0 && *name) {
		out->name = name;
		name = NULL;
		r = add_class(h, f, &out->name);
	} else if (r == 0) {
		r = put_anonymous(h, shared, out, &out->name);
	}
	free(name);
	free(inferred);
	return r;
}

/* The script's name, without a scheme that only says that it is a file. */
static int read_file(const struct v8_heap *h, uint64_t script, char **out)
{
	static const char scheme[] = "file://";
	uint64_t name;
	int r;

	if (!script || v8_get_object(h, script + (uint64_t)h->vm->f.script_name, &name) < 0 ||
	    !v8_is_string(h, name))
		name = 0;
	r = read_string(h, name, out);
	if (r == 0 && !strncmp(*out, scheme, strlen(scheme)))
		memmove(*out, *out + strlen(scheme), strlen(*out + strlen(scheme)) + 1);
	return r;
}

static int check_cookie(const struct v8_heap *h, uint64_t shared, uint32_t cookie)
{
	uint32_t now;

	return v8_get_cookie(h, shared, &now) == 0 && now == cookie ? 0 : -ESTALE;
}

static int read_function(const struct v8_heap *h, uint64_t shared, uint32_t cookie,
			 struct lang_function *out)
{
	struct v8_function f;
	int r = check_cookie(h, shared, cookie);

	if (r == 0 && v8_type(h, shared) != h->vm->f.type_shared)
		r = -ESTALE;
	if (r == 0)
		r = v8_get_function(h, shared, &f);
	if (r == 0)
		r = read_file(h, f.script, &out->file);
	if (r == 0)
		r = v8_get_lines(h, &f, out);
	if (r == 0)
		r = read_name(h, shared, &f, out);
	if (r == 0)
		r = check_cookie(h, shared, cookie);
	/* what leads nowhere is what was moved or freed */
	return r == 0 || r == -ENOMEM ? r : -ESTALE;
}

int v8_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
	    uint64_t addr, uint32_t cookie, struct lang_function *out)
{
	struct v8_heap h;
	int r = v8_heap_init(&h, &tables->v8[vm], vm, p);

	if (r < 0)
		return r;
	return addr & V8_IS_MASK ? v8_read_code(&h, addr, cookie, out)
				 : read_function(&h, addr, cookie, out);
}
