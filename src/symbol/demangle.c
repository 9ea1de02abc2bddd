/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Demangles with libiberty. The scheme is chosen by the symbol's prefix,
 * because libiberty's "auto" style does not support D and Ada together with
 * the others and would decode C names as Ada.
 *
 * A mangled name may refer back to its own parts, so a short one can expand
 * exponentially. C++ and Rust are therefore printed through a callback that
 * leaves with longjmp() at the limit. This leaks nothing, since libiberty keeps
 * its state on the stack there, except for Rust's punycode. D has no callback;
 * D symbols with many back references are refused.
 */
#include "symbol/demangle.h"

#include <errno.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "symbol/demangle_haskell.h"

#define RUST_HASH_DIGITS "0123456789abcdef"

enum {
	RUST_HASH_LEN = 16,
	BACKREFS_MAX = 24, /* in D, and in Rust with punycode */
	SUFFIX_MAX = 64,   /* "@plt", "@@GLIBCXX_3.4" */
	ENTRY_BYTES = 16,  /* fixed cost of a cache entry, for demangle_trim() */
};

struct bounded_output {
	struct buf out;
	jmp_buf too_long;
};

static void append_piece(const char *s, size_t len, void *opaque)
{
	struct bounded_output *c = opaque;

	if (c->out.len + len > DEMANGLE_OUT_MAX)
		longjmp(c->too_long, 1);
	buf_put(&c->out, s, len);
}

typedef int (*callback_demangler)(const char *, int, demangle_callbackref, void *);

/* Returns the text that @fn prints, to be freed, or NULL if it fails or is too long. */
static char *demangle_bounded(callback_demangler fn, const char *raw, int options)
{
	struct bounded_output c = { 0 };
	int ok;

	if (setjmp(c.too_long)) {
		buf_fini(&c.out);
		return NULL;
	}
	ok = fn(raw, options, append_piece, &c);
	buf_put_byte(&c.out, '\0');
	if (!ok || buf_error(&c.out) || c.out.len == 1) {
		buf_fini(&c.out);
		return NULL;
	}
	return (char *)c.out.data;
}

static size_t count_char(const char *s, char c)
{
	size_t n = 0;

	for (; *s; s++)
		n += *s == c;
	return n;
}

/* The position after the base-62 number at @s, which "_" ends. */
static const char *skip_number(const char *s)
{
	s += strcspn(s, "_");
	return *s ? s + 1 : s;
}

/* The position after the identifier at @s: its length, "_" if it begins like a number, itself. */
static const char *skip_identifier(const char *s)
{
	size_t len = 0, left;

	for (; *s >= '0' && *s <= '9' && len <= DEMANGLE_RAW_MAX; s++)
		len = 10 * len + (size_t)(*s - '0');
	s += *s == '_';
	left = strlen(s);
	return s + (len < left ? len : left);
}

/*
 * "u" and a digit start an identifier in punycode. libiberty decodes it on the heap, which
 * longjmp() would leak. True for some names that have none (the type "()" is "u", too).
 */
static bool may_have_punycode(const char *raw)
{
	const char *s = raw + strlen("_R");

	while (*s) {
		char c = *s;

		if (c >= '0' && c <= '9')
			s = skip_identifier(s);
		else if (c == 'u' && s[1] >= '0' && s[1] <= '9')
			return true;
		else if (strchr("sBGLK", c))
			s = skip_number(s + 1);
		else
			s++;
	}
	return false;
}

/*
 * libiberty prints a constant of more than 64 bits from its second digit on, and the "_" after it.
 * The corrected text has the same length.
 */
static void correct_wide_constants(const char *raw, char *text)
{
	static const char digits[] = "0123456789abcdef";
	size_t n;

	for (const char *k = strpbrk(raw, digits); k; k = strpbrk(k + n, digits)) {
		n = strspn(k, digits);
		if (n <= 16 || k[n] != '_')
			continue;
		for (char *at = strstr(text, "0x"); at; at = strstr(at + 2, "0x"))
			if (!strncmp(at + 2, k + 1, n))
				memcpy(at + 2, k, n);
	}
}

/*
 * A legacy Rust symbol is an Itanium nested name that ends with "17h" and 16 hexadecimal digits.
 * Returns the digits; NULL if @raw is none.
 */
static const char *rust_legacy_hash(const char *raw)
{
	const char *h;

	if (strncmp(raw, "_ZN", 3))
		return NULL;
	for (h = strstr(raw, "17h"); h; h = strstr(h + 1, "17h"))
		if (strspn(h + 3, RUST_HASH_DIGITS) == RUST_HASH_LEN && h[3 + RUST_HASH_LEN] == 'E')
			return h + 3;
	return NULL;
}

static bool is_rust_legacy(const char *raw)
{
	return rust_legacy_hash(raw);
}

/*
 * libiberty accepts only a hash of at least five different digits, which one in 10,000 does not
 * have. The result does not contain the hash, so another hash is passed instead.
 */
static char *demangle_rust_legacy(const char *raw)
{
	_cleanup_(freep) char *other = strdup(raw);

	if (!other)
		return NULL;
	memcpy(other + (rust_legacy_hash(raw) - raw), RUST_HASH_DIGITS, RUST_HASH_LEN);
	return demangle_bounded(rust_demangle_callback, other, DMGL_NO_OPTS);
}

static char *demangle_rust(const char *raw)
{
	char *text;

	if (raw[1] == 'Z')
		return demangle_rust_legacy(raw);
	if (may_have_punycode(raw) && count_char(raw, 'B') > BACKREFS_MAX)
		return NULL;
	text = demangle_bounded(rust_demangle_callback, raw, DMGL_NO_OPTS);
	if (text)
		correct_wide_constants(raw, text);
	return text;
}

static char *demangle_d(const char *raw)
{
	char *s;

	if (count_char(raw, 'Q') > BACKREFS_MAX)
		return NULL;
	s = dlang_demangle(raw, DMGL_NO_OPTS);
	if (s && strlen(s) > DEMANGLE_OUT_MAX) {
		free(s);
		return NULL;
	}
	return s;
}

/* libiberty returns a symbol that is not valid Ada in angle brackets. */
static char *demangle_ada(const char *raw)
{
	char *s = ada_demangle(raw, DMGL_NO_OPTS);

	if (s && s[0] == '<') {
		free(s);
		return NULL;
	}
	return s;
}

static bool is_cxx(const char *raw)
{
	return !strncmp(raw, "_Z", 2) || !strncmp(raw, "___Z", 4) || !strncmp(raw, "_GLOBAL_", 8);
}

static char *demangle_bare(const char *raw, enum demangle_mode mode, enum demangle_scheme scheme)
{
	int cxx_options = mode == DEMANGLE_SHORT ? DMGL_NO_OPTS : DMGL_PARAMS | DMGL_ANSI;

	if (!strncmp(raw, "_R", 2) || is_rust_legacy(raw))
		return demangle_rust(raw);
	if (is_cxx(raw))
		return demangle_bounded(cplus_demangle_v3_callback, raw, cxx_options);
	if (raw[0] == '_' && raw[1] == 'D' &&
	    (!strcmp(raw, "_Dmain") || strpbrk(raw, "0123456789")))
		return demangle_d(raw);
	if (scheme == DEMANGLE_ADA || !strncmp(raw, "_ada_", 5))
		return demangle_ada(raw);
	return NULL;
}

static bool is_ident(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool ends_with(const struct buf *b, const char *tail)
{
	size_t n = strlen(tail);

	return b->len >= n && !memcmp(b->data + b->len - n, tail, n) &&
	       (b->len == n || !is_ident((char)b->data[b->len - n - 1]));
}

/*
 * Returns the position after the bracket that closes the one at @s, or NULL if there is none. The
 * ">" of "->" is not a bracket.
 */
static const char *skip_group(const char *s)
{
	size_t depth = 0;
	const char *start = s;

	for (; *s; s++) {
		if (*s == '<' || *s == '(' || *s == '[' || *s == '{')
			depth++;
		else if (*s == '>' && s > start && s[-1] == '-')
			continue;
		else if ((*s == '>' || *s == ')' || *s == ']' || *s == '}') && --depth == 0)
			return s + 1;
	}
	return NULL;
}

/*
 * Copies the characters of an operator's name, such as "<" or "()", which are not brackets. Drops
 * its template arguments. Returns the position after both.
 */
static const char *copy_operator(struct buf *out, const char *s)
{
	size_t n = strspn(s, "<>=-+*/%^&|~!,");

	if (!strncmp(s, "()", 2) || !strncmp(s, "[]", 2))
		n = 2;
	buf_put(out, s, n);
	s += n;
	if (n && s[0] == ' ' && s[1] == '<') {
		const char *end = skip_group(s + 1);

		return end ? end : s;
	}
	return s;
}

/* Template arguments follow a name or Rust's "::", whereas Rust's "<T as X>" starts a path. */
static bool is_argument_list(const struct buf *out)
{
	char last = out->len ? (char)out->data[out->len - 1] : '\0';

	return is_ident(last) || (last && strchr(")]}:", last));
}

static const char *skip_qualifiers(const char *s)
{
	static const char *const words[] = { " const", " volatile", " &&", " &" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strncmp(s, words[i], strlen(words[i])))
			s += strlen(words[i]);
	return s;
}

/* Performs one step of shorten(): copies or drops text at @s and returns the position after it. */
static const char *shorten_step(struct buf *out, const char *s, bool rust)
{
	const char *end = NULL;

	if (*s == '<' && is_argument_list(out))
		end = skip_group(s);
	else if (*s == '(' && !rust && strncmp(s, "(anonymous", 10))
		end = skip_group(s);
	if (!end) {
		buf_put_byte(out, (uint8_t)*s++);
		return !rust && ends_with(out, "operator") ? copy_operator(out, s) : s;
	}
	if (*s == '(')
		return skip_qualifiers(end);
	while (rust && out->len && out->data[out->len - 1] == ':')
		out->len--; /* "f::<T>" becomes "f" */
	return end;
}

/* Returns @full without parameters and template arguments, or NULL if memory is short. */
static char *shorten(const char *full, bool rust)
{
	struct buf out = { 0 };

	while (*full)
		full = shorten_step(&out, full, rust);
	buf_put_byte(&out, '\0');
	if (buf_error(&out)) {
		buf_fini(&out);
		return NULL;
	}
	return (char *)out.data;
}

/* Returns the length of @raw without a suffix of the linker or LLVM that libiberty rejects. */
static size_t len_without_suffix(const char *raw, size_t len)
{
	const char *at = strchr(raw, '@');
	const char *llvm = strstr(raw, ".llvm.");

	if (at && at > raw && len - (size_t)(at - raw) < SUFFIX_MAX)
		len = (size_t)(at - raw);
	if (llvm && llvm > raw && (size_t)(llvm - raw) < len)
		len = (size_t)(llvm - raw);
	return len;
}

static char *with_suffix(char *name, const char *suffix)
{
	size_t len = strlen(name), more = strlen(suffix);
	char *s = realloc(name, len + more + 1);

	if (!s) {
		free(name);
		return NULL;
	}
	memcpy(s + len, suffix, more + 1);
	return s;
}

char *demangle_name(const char *raw, enum demangle_mode mode, enum demangle_scheme scheme)
{
	_cleanup_(freep) char *bare = NULL;
	_cleanup_(freep) char *full = NULL;
	size_t len = strlen(raw), bare_len;
	char *out;

	if (mode == DEMANGLE_NO || len > DEMANGLE_RAW_MAX || len < 3 || (raw[0] != '_' && !scheme))
		return NULL;
	if (scheme == DEMANGLE_HASKELL && raw[0] != '_')
		return demangle_haskell(raw, mode == DEMANGLE_FULL);
	bare_len = len_without_suffix(raw, len);
	bare = strndup(raw, bare_len);
	if (!bare)
		return NULL;
	full = demangle_bare(bare, mode, scheme);
	if (!full)
		return NULL;
	out = mode == DEMANGLE_SHORT ? shorten(full, bare[1] == 'R' || is_rust_legacy(bare))
				     : steal_ptr(&full);
	return out && raw[bare_len] == '@' ? with_suffix(out, raw + bare_len) : out;
}

struct demangled {
	uint32_t raw, name; /* ids in strings */
	enum demangle_scheme scheme;
};

struct demangle {
	enum demangle_mode mode;
	struct strtab *strings;
	struct index by_raw;
	struct {
		VEC(struct demangled);
	} names;
};

struct demangle_key {
	const struct demangle *d;
	const char *raw;
	enum demangle_scheme scheme;
};

static bool demangle_eq(const void *ctx, uint32_t id)
{
	const struct demangle_key *k = ctx;
	const struct demangled *n = &k->d->names.data[id];

	return n->scheme == k->scheme && !strcmp(strtab_get(k->d->strings, n->raw), k->raw);
}

int demangle_new(struct demangle **out, enum demangle_mode mode)
{
	struct demangle *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->mode = mode;
	if (strtab_new(&d->strings) < 0) {
		free(d);
		return -ENOMEM;
	}
	*out = d;
	return 0;
}

void demangle_free(struct demangle *d)
{
	if (!d)
		return;
	strtab_free(d->strings);
	index_fini(&d->by_raw);
	vec_fini(&d->names);
	free(d);
}

/* Stores @name under the key. Returns the stored copy, or NULL if memory is short. */
static const char *demangle_remember(struct demangle *d, const struct demangle_key *k,
				     uint32_t hash, const char *name)
{
	struct demangled n = { .scheme = k->scheme };
	uint32_t id = (uint32_t)d->names.len;

	if (strtab_add(d->strings, k->raw, strlen(k->raw), &n.raw) < 0 ||
	    strtab_add(d->strings, name, strlen(name), &n.name) < 0 || vec_push(&d->names, n) < 0)
		return NULL;
	if (index_add(&d->by_raw, hash, id) < 0)
		d->names.len--;
	return strtab_get(d->strings, n.name);
}

const char *demangle_get(struct demangle *d, const char *raw, enum demangle_scheme scheme)
{
	struct demangle_key key = { d, raw, scheme };
	_cleanup_(freep) char *name = NULL;
	const char *cached;
	uint32_t hash, id;

	if (d->mode == DEMANGLE_NO || (raw[0] != '_' && !scheme))
		return raw;
	hash = hash_bytes(raw, strlen(raw));
	if (index_find(&d->by_raw, hash, demangle_eq, &key, &id))
		return strtab_get(d->strings, d->names.data[id].name);
	name = demangle_name(raw, d->mode, scheme);
	cached = demangle_remember(d, &key, hash, name ? name : raw);
	return cached ? cached : raw;
}

void demangle_trim(struct demangle *d, size_t max_bytes)
{
	struct strtab *fresh;

	if (strtab_bytes(d->strings) + d->names.len * ENTRY_BYTES <= max_bytes)
		return;
	if (strtab_new(&fresh) < 0)
		return;
	strtab_free(d->strings);
	d->strings = fresh;
	index_fini(&d->by_raw);
	vec_fini(&d->names);
}
