/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names a function as a debugger does: by its own name or, if it has none, the one that the
 * parser inferred, qualified by its class if that is known; else by its position. Nothing that
 * is read from the process is trusted, and the cookie is compared again at the end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "lang/v8/heap.h"
#include "lang/v8/reader.h"

static int buf_to_string(struct buf *b, char **out)
{
	buf_put_byte(b, '\0');
	if (buf_error(b)) {
		buf_fini(b);
		return -ENOMEM;
	}
	*out = (char *)b->data;
	return 0;
}

/* Reads a string; "" if @object is 0. */
static int read_string(const struct v8_heap *h, uint64_t object, char **out)
{
	struct buf b = { 0 };
	int r = object ? v8_put_string(h, object, &b) : 0;

	if (r < 0) {
		buf_fini(&b);
		return r;
	}
	return buf_to_string(&b, out);
}

/* Returns whether @inferred qualifies @name, as "Class.name" does. */
static bool is_qualified(const char *inferred, const char *name)
{
	size_t n = strlen(name), all = strlen(inferred);

	return all > n + 1 && inferred[all - n - 1] == '.' && !strcmp(inferred + all - n, name);
}

/* Names a function "(anonymous app.js:12)", or one of V8 itself by its builtin. */
static int put_anonymous(const struct v8_heap *h, uint64_t shared, const struct lang_function *f,
			 char **out)
{
	const char *slash = strrchr(f->file, '/');
	const char *base = slash && slash[1] ? slash + 1 : f->file;
	struct buf b = { 0 };
	int32_t n;

	if (!*base && v8_get_smi(h, shared + h->shape.shared_builtin, &n) == 0) {
		v8_put_builtin(h, n, &b);
		return buf_to_string(&b, out);
	}
	buf_put_str(&b, "(anonymous");
	if (*base)
		buf_printf(&b, " %s", base);
	if (*base && f->first_line)
		buf_printf(&b, ":%u", f->first_line);
	buf_put_byte(&b, ')');
	return buf_to_string(&b, out);
}

/* Qualifies a method as "Class.name". A constructor has the name of its class already. */
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
	return buf_to_string(&b, name);
}

static int read_name(const struct v8_heap *h, uint64_t shared, const struct v8_function *f,
		     struct lang_function *out)
{
	char *name = NULL, *inferred = NULL;
	int r = read_string(h, f->name, &name);

	if (r == 0)
		r = read_string(h, f->inferred, &inferred);
	if (r == 0 && *inferred && (!*name || is_qualified(inferred, name))) {
		out->name = inferred;
		inferred = NULL;
	} else if (r == 0 && *name && !f->script && !name[strspn(name, "0123456789")]) {
		/*
		 * The JavaScript function that wraps one of WebAssembly has that one's index as
		 * its name.
		 */
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

/* Reads the script's name, without the scheme file://. */
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
	/* A broken chain of pointers means that the object was moved or freed. */
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
