/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the name, file and line table of a method from a process: through its Method,
 * ConstMethod, ConstantPool, Klass and Symbol. The process may unload the class meanwhile, or
 * contain garbage, so every length is bounded, every name is checked, and the identity of the
 * method is compared again at the end. The parts of a name that differ from run to run are removed:
 * the address of a hidden class and the number of a lambda. Otherwise profiles of two runs could
 * not be compared.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "lang/jvm/jvm.h"
#include "profile/jvm_class.h"

enum {
	CONST_BYTES_MAX = 256,
	CONST_WORDS_MAX = 1 << 16, /* of a ConstMethod; byte code is limited to 64 KiB */
	POOL_MAX = 1 << 16,
};

#define NEAR " [nearest safepoint]"

struct job {
	const struct jvm_vm *vm;
	const struct lang_process *p;
	uint64_t part;  /* address of the ConstMethod */
	uint64_t whole; /* the method's identity when reading began */
	union {
		uint8_t bytes[CONST_BYTES_MAX];
		uint64_t align;
	} head; /* its first const_bytes bytes */
};

static int read_at(const struct job *j, uint64_t addr, void *dst, size_t len)
{
	return j->p->read(j->p->ctx, addr, dst, len) ? -EFAULT : 0;
}

/* Returns @width bytes of the ConstMethod's header as a number, or 0 if they are outside of it. */
static uint64_t head_field(const struct job *j, uint16_t off, size_t width)
{
	uint64_t v = 0;

	if (width <= sizeof(v) && off + width <= j->vm->const_bytes)
		memcpy(&v, j->head.bytes + off, width);
	return v;
}

/* ---- symbols ---------------------------------------------------------------- */

/* Returns the length of the character of modified UTF-8 that begins with @first; 0 if none does. */
static size_t char_length(uint8_t first)
{
	if (first < 0x80)
		return first ? 1 : 0;
	return first >= 0xc0 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : 0;
}

/*
 * Returns whether @text is not empty and is modified UTF-8 (JVM specification, section 4.4.7),
 * which has no byte 0. This detects freed Symbols: the C library overwrites their beginning after
 * HotSpot has freed them with their class. The last character may be incomplete, because long text
 * is truncated.
 */
static bool is_text(const uint8_t *text, size_t len)
{
	for (size_t i = 0, n; i < len; i += n) {
		n = char_length(text[i]);
		if (!n)
			return false;
		for (size_t k = 1; k < n && i + k < len; k++)
			if ((text[i + k] & 0xc0) != 0x80)
				return false;
	}
	return len > 0;
}

/*
 * Appends the text of a Symbol, at most LANG_NAME_MAX bytes of it. Control characters become
 * '?'. Returns -EFAULT if there is no Symbol.
 */
static int read_symbol(const struct job *j, uint64_t at, struct buf *out)
{
	uint8_t text[LANG_NAME_MAX];
	uint16_t len;

	if (!at || at & 7 || read_at(j, at + j->vm->symbol_length, &len, sizeof(len)) < 0)
		return -EFAULT;
	if (len > sizeof(text))
		len = sizeof(text);
	if (read_at(j, at + j->vm->symbol_body, text, len) < 0 || !is_text(text, len))
		return -EFAULT;
	for (size_t i = 0; i < len; i++)
		buf_put_byte(out, text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i]);
	return 0;
}

static int read_pool_symbol(const struct job *j, uint64_t pool, uint64_t index, struct buf *out)
{
	uint64_t symbol;
	uint32_t length;

	if (read_at(j, pool + j->vm->pool_length, &length, sizeof(length)) < 0 || !index ||
	    index >= length || length > POOL_MAX ||
	    read_at(j, pool + j->vm->pool_bytes + index * sizeof(symbol), &symbol, sizeof(symbol)) <
		    0)
		return -EFAULT;
	return read_symbol(j, symbol, out);
}

/* ---- names ------------------------------------------------------------------ */

/* Appends one type of a signature. Returns the position after it, or NULL if it is malformed. */
static const char *put_type(struct buf *out, const char *at, const char *end)
{
	static const char letters[] = "BCDFIJSZV";
	static const char *const names[] = { "byte", "char",  "double",  "float", "int",
					     "long", "short", "boolean", "void" };
	const char *stop, *letter;
	size_t n_arrays = 0;

	for (; at < end && *at == '['; at++)
		n_arrays++;
	if (at >= end)
		return NULL;
	letter = strchr(letters, *at);
	if (*at == 'L') {
		stop = memchr(at, ';', (size_t)(end - at));
		if (!stop)
			return NULL;
		jvm_class_put(out, at + 1, (size_t)(stop - at - 1));
		at = stop + 1;
	} else if (*at && letter) {
		buf_put_str(out, names[letter - letters]);
		at++;
	} else {
		return NULL;
	}
	while (n_arrays--)
		buf_put_str(out, "[]");
	return at;
}

/*
 * Appends "(int, java.lang.String[])" for the signature "(I[Ljava/lang/String;)V". Appends
 * nothing if the signature is malformed.
 */
static void put_parameters(struct buf *out, const char *sig, size_t len)
{
	const char *at = sig + 1, *end = sig + len;
	size_t begin = out->len;

	if (!len || *sig != '(')
		return;
	buf_put_byte(out, '(');
	while (at && at < end && *at != ')') {
		if (at != sig + 1)
			buf_put_str(out, ", ");
		at = put_type(out, at, end);
	}
	if (at && at < end)
		buf_put_byte(out, ')');
	else if (!buf_error(out))
		out->len = begin;
}

/*
 * Appends package.Class.method, followed by its parameters if the configuration enables
 * signatures.
 */
static int read_name(const struct job *j, uint64_t pool, uint64_t holder, struct buf *out)
{
	struct buf text = { 0 };
	uint64_t symbol;
	int r = -EFAULT;

	if (read_at(j, holder + j->vm->klass_name, &symbol, sizeof(symbol)) < 0)
		return -EFAULT;
	r = read_symbol(j, symbol, &text);
	if (r == 0 && !buf_error(&text)) {
		jvm_class_put(out, (const char *)text.data, text.len);
		buf_put_byte(out, '.');
		r = read_pool_symbol(j, pool, head_field(j, j->vm->name_index, 2), out);
	}
	text.len = 0;
	if (r == 0 && j->p->signatures) {
		r = read_pool_symbol(j, pool, head_field(j, j->vm->signature_index, 2), &text);
		if (r == 0 && !buf_error(&text))
			put_parameters(out, (const char *)text.data, text.len);
	}
	if (buf_error(&text))
		r = -ENOMEM;
	buf_fini(&text);
	return r;
}

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

/* Reads the name of the source file that the class records, or "" if there is none. */
static int read_file(const struct job *j, uint64_t pool, uint64_t holder, char **out)
{
	uint64_t at = j->vm->pool_source ? pool + j->vm->pool_source : holder + j->vm->klass_source;
	struct buf b = { 0 };
	uint16_t index;

	if (read_at(j, at, &index, sizeof(index)) == 0 && index &&
	    read_pool_symbol(j, pool, index, &b) < 0)
		b.len = 0;
	return buf_to_string(&b, out);
}

/*
 * Reads the line table. It follows the byte code; its length is not recorded, so everything up
 * to the end of the ConstMethod is read.
 */
static int read_lines(const struct job *j, struct lang_function *out)
{
	uint64_t flags = head_field(j, j->vm->const_flags, j->vm->const_flags_bytes);
	uint64_t begin = j->vm->const_bytes + head_field(j, j->vm->code_size, 2);
	uint64_t words = head_field(j, j->vm->const_size, 4);

	if (!(flags & j->vm->has_lines) || words > CONST_WORDS_MAX || words * 8 <= begin ||
	    words * 8 - begin > LANG_LINES_MAX)
		return 0;
	out->n_lines = (uint32_t)(words * 8 - begin);
	out->lines = malloc(out->n_lines);
	if (!out->lines)
		return -ENOMEM;
	if (read_at(j, j->part + begin, out->lines, out->n_lines) < 0)
		return -EFAULT;
	out->first_line = jvm_first_line(out->lines, out->n_lines, j->vm->zero_free);
	return 0;
}

static int read_parts(const struct job *j, struct lang_function *out)
{
	struct buf name = { 0 };
	uint64_t pool, holder;
	int r;

	pool = head_field(j, j->vm->const_pool, 8);
	if (read_at(j, pool + j->vm->pool_holder, &holder, sizeof(holder)) < 0)
		return -EFAULT;
	r = read_name(j, pool, holder, &name);
	if (r < 0) {
		buf_fini(&name);
		return r;
	}
	r = buf_to_string(&name, &out->name);
	if (r == 0 && asprintf(&out->near_name, "%s" NEAR, out->name) < 0) {
		out->near_name = NULL;
		r = -ENOMEM;
	}
	if (r == 0)
		r = read_file(j, pool, holder, &out->file);
	return r < 0 ? r : read_lines(j, out);
}

int jvm_identity_read(const struct jvm_vm *vm, const struct lang_process *p, uint64_t method,
		      struct jvm_identity *out)
{
	const struct job j = { .vm = vm, .p = p };
	uint64_t at, hash = 0;

	if (read_at(&j, method + vm->method_const, &out->part, sizeof(out->part)) < 0)
		return -EFAULT;
	if (read_at(&j, out->part + vm->const_pool, &at, sizeof(at)) == 0 &&
	    read_at(&j, at + vm->pool_holder, &at, sizeof(at)) == 0 &&
	    read_at(&j, at + vm->klass_name, &at, sizeof(at)) == 0 &&
	    read_at(&j, at + vm->symbol_hash, &hash, 2) < 0)
		hash = 0;
	out->whole = out->part ^ hash << 48;
	return 0;
}

/* Finds the ConstMethod. Returns -ESTALE if the method is not the sampled one any more. */
static int read_part(struct job *j, uint64_t method, uint32_t cookie)
{
	struct jvm_identity id;

	if (jvm_identity_read(j->vm, j->p, method, &id) < 0)
		return -EFAULT;
	j->part = id.part;
	j->whole = id.whole;
	return lang_cookie(id.whole) == cookie || lang_cookie(id.part) == cookie ? 0 : -ESTALE;
}

/* Returns -ESTALE if the method is not the one any more that read_part() found. */
static int compare_part(const struct job *j, uint64_t method)
{
	struct jvm_identity id;

	if (jvm_identity_read(j->vm, j->p, method, &id) < 0)
		return -EFAULT;
	return id.whole == j->whole ? 0 : -ESTALE;
}

static int read_method(struct job *j, uint64_t method, uint32_t cookie, struct lang_function *out)
{
	int r = read_part(j, method, cookie);

	if (r == 0 && j->vm->const_bytes > CONST_BYTES_MAX)
		r = -ENOENT;
	if (r == 0)
		r = read_at(j, j->part, j->head.bytes, j->vm->const_bytes);
	out->version = j->vm->zero_free;
	if (r == 0)
		r = read_parts(j, out);
	if (r == 0)
		r = compare_part(j, method);
	/* A broken chain of pointers means that the class was unloaded. */
	return r == 0 || r == -ENOMEM ? r : -ESTALE;
}

int jvm_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
	     uint64_t addr, uint32_t cookie, struct lang_function *out)
{
	struct job j = { .vm = &tables->jvm[vm], .p = p };

	if (addr & (JVM_IS_STUB | JVM_IS_ROUTINE))
		return jvm_stub_read(tables, vm, p, addr, cookie, out);
	return read_method(&j, addr, cookie, out);
}
