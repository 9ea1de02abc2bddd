/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds and names the WebAssembly function of a frame. Its code is not in V8's heap: a
 * NativeModule, to which the instance in the frame leads, has its WasmCode objects in a
 * std::map by address, and recently added ones in a std::vector.
 *
 * No symbol describes where a NativeModule has these two, and it differs between versions, so
 * each of its words is tried. A result is verified: a WasmCode must point back to the module,
 * and its instructions must contain the pc. The bytes of the module are found in the same way.
 * Their section `name` has the names of the functions (WebAssembly specification, appendix
 * "Custom Sections"); without it they are named by their index, as debuggers do.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "lang/memo.h"
#include "lang/v8/reader.h"

enum {
	INSTANCE_WORDS = 64, /* limit of words of an instance, one of which leads to its module */
	MODULE_WORDS = 192,
	WORDS_MIN = 16,
	HOLDERS = 3, /* number of ways from an instance to the object that holds its module */
	/* offsets in objects that JavaScript can access */
	OBJECT_FIRST = 24,
	OBJECT_SECOND = 32,
	HOLDER_POINTER = 8,     /* in a Managed object: address of its destructor record */
	DESTRUCTOR_SHARED = 24, /* in that record: address of a std::shared_ptr */
	CODES_MAX = 1 << 20,
	TREE_DEPTH_MAX = 64,
	VECTOR_MAX = 8192,
	CHUNK = 64,
	CODE_WORDS = 8,
	/* first version (major * 100 + minor) with the function's index at its later offset */
	INDEX_MOVED_SINCE = 1300,
	INDEX_BITS = 20,
	BYTES_MAX = 1 << 30,
	SECTIONS_MAX = 1 << 12,
	SECTION_HEAD = 16,   /* limit of a section's id, size and name */
	NAMES_MAX = 2 << 20, /* limit in bytes */
	SECTION_CUSTOM = 0,
	NAMES_OF_FUNCTIONS = 1,
};

/* A NativeModule, as far as it could be read. */
struct module {
	const struct v8_heap *h;
	uint64_t at, words[MODULE_WORDS];
	size_t n;
};

static bool is_pointer(uint64_t word)
{
	return !(word & 7) && word >= 4096 && word >> 47 == 0;
}

/* Reads up to @max words. Halves the number until the read succeeds; returns it, or 0. */
static size_t get_words(const struct v8_heap *h, uint64_t at, uint64_t *out, size_t max)
{
	for (size_t n = max; n >= WORDS_MIN; n /= 2)
		if (v8_get(h, at, out, n * sizeof(*out)) == 0)
			return n;
	return 0;
}

static bool get_pointer(const struct v8_heap *h, uint64_t at, uint64_t *out)
{
	return v8_get(h, at, out, sizeof(*out)) == 0 && is_pointer(*out);
}

static int module_open(struct module *m, const struct v8_heap *h, uint64_t at)
{
	m->h = h;
	m->at = at;
	m->n = get_words(h, at, m->words, MODULE_WORDS);
	return m->n ? 0 : -ENOENT;
}

/* ---- code of a module ---------------------------------------------------------- */

/* Returns the index of the function whose WasmCode is at @at if it contains @pc, else -1. */
static int32_t check_code(const struct module *m, uint64_t at, uint64_t pc)
{
	uint64_t w[CODE_WORDS], start, size;
	uint32_t numbers[2 * CODE_WORDS], version = m->h->vm->major * 100u + m->h->vm->minor;
	size_t n, i;

	if (!is_pointer(at) || v8_get(m->h, at, w, sizeof(w)) < 0)
		return -1;
	memcpy(numbers, w, sizeof(numbers));
	if (w[6] == m->at && w[0] != m->at) {
		/* the layout up to 8.3 */
		start = w[0];
		n = 2;
		i = 14;
	} else if (w[0] != m->at) {
		return -1;
	} else {
		bool early = version >= 1100 && version < INDEX_MOVED_SINCE;

		start = w[1];
		n = early ? 6 : 8;
		i = early ? 11 : version < 1100 ? 12 : 14;
	}
	size = numbers[n];
	if (pc < start || pc - start >= size || numbers[i] >= 1u << INDEX_BITS)
		return -1;
	return (int32_t)numbers[i];
}

/* Searches the std::map whose header is at word @i. Returns the function's index or -1. */
static int32_t find_in_map(const struct module *m, size_t i, uint64_t pc)
{
	enum { LEFT = 2, RIGHT, KEY, VALUE, NODE_WORDS };
	const uint64_t *head = m->words + i;
	uint64_t node[NODE_WORDS], at = head[1], code = 0;

	/*
	 * The header has the colour (0: red), the root, the first and last node, and the number
	 * of nodes.
	 */
	if ((uint32_t)head[0] || !is_pointer(head[1]) || !is_pointer(head[2]) ||
	    !is_pointer(head[3]) || !head[4] || head[4] > CODES_MAX)
		return -1;
	for (int depth = 0; depth < TREE_DEPTH_MAX && is_pointer(at); depth++) {
		if (v8_get(m->h, at, node, sizeof(node)) < 0)
			return -1;
		if (node[KEY] <= pc)
			code = node[VALUE];
		at = node[node[KEY] <= pc ? RIGHT : LEFT];
	}
	return check_code(m, code, pc);
}

/* Returns whether @at is a WasmCode of this module. */
static bool is_code(const struct module *m, uint64_t at)
{
	uint64_t w[CODE_WORDS];

	return is_pointer(at) && v8_get(m->h, at, w, sizeof(w)) == 0 &&
	       (w[0] == m->at || w[6] == m->at);
}

/*
 * Searches the std::vector at word @i, the newest code first. Returns the function's index or
 * -1.
 */
static int32_t find_in_vector(const struct module *m, size_t i, uint64_t pc)
{
	const uint64_t *v = m->words + i;
	uint64_t codes[CHUNK], left;

	if (!is_pointer(v[0]) || v[1] <= v[0] || v[2] < v[1] || v[1] & 7 ||
	    v[1] - v[0] > VECTOR_MAX * 8ULL || v8_get(m->h, v[0], codes, sizeof(codes[0])) < 0 ||
	    !is_code(m, codes[0]))
		return -1;
	left = (v[1] - v[0]) / 8;
	while (left) {
		uint64_t n = left < CHUNK ? left : CHUNK;

		left -= n;
		if (v8_get(m->h, v[0] + left * 8, codes, n * 8) < 0)
			return -1;
		while (n--) {
			int32_t index = check_code(m, codes[n], pc);

			if (index >= 0)
				return index;
		}
	}
	return -1;
}

static int32_t find_function(const struct module *m, uint64_t pc)
{
	for (size_t i = 0; i + 5 <= m->n; i++) {
		int32_t index = find_in_map(m, i, pc);

		if (index < 0)
			index = find_in_vector(m, i, pc);
		if (index >= 0)
			return index;
	}
	return -1;
}

/* ---- from an instance to its module ----------------------------------------------- */

/* Gets the native object that a Managed object owns by a std::shared_ptr. */
static bool read_managed(const struct v8_heap *h, uint64_t object, uint64_t *out)
{
	uint64_t at;

	return get_pointer(h, object + HOLDER_POINTER, &at) &&
	       get_pointer(h, at + DESTRUCTOR_SHARED, &at) && get_pointer(h, at, out);
}

/*
 * Finds the function in the module that @object holds directly or through another object.
 * Returns its index or -1.
 */
static int32_t find_through(const struct v8_heap *h, uint64_t object, uint64_t pc, struct module *m)
{
	uint64_t holders[HOLDERS] = { object }, at;
	int32_t index = -1;

	/* The module's object; or the instance's, which refers to the module's. */
	if (v8_get_object(h, object + OBJECT_FIRST, &holders[1]) < 0)
		holders[1] = 0;
	if (v8_get_object(h, object + OBJECT_SECOND, &at) < 0 ||
	    v8_get_object(h, at + OBJECT_FIRST, &holders[2]) < 0)
		holders[2] = 0;
	for (int i = 0; i < HOLDERS && index < 0; i++)
		if (read_managed(h, holders[i], &at) && module_open(m, h, at) == 0)
			index = find_function(m, pc);
	return index;
}

static int32_t search_instance(const struct v8_heap *h, uint64_t instance, uint64_t pc,
			       struct module *m)
{
	uint64_t words[INSTANCE_WORDS];
	size_t n = get_words(h, instance, words, INSTANCE_WORDS);
	int32_t index = -1;

	/* The first word is the map (the hidden class). */
	for (size_t i = 1; i < n && index < 0; i++)
		if ((words[i] & 7) == 1 && words[i] > 4096)
			index = find_through(h, words[i] - 1, pc, m);
	return index;
}

/* Like search_instance(), but stores the address of an instance's module in the memo. */
static int32_t find_by_instance(const struct v8_heap *h, uint64_t instance, uint64_t pc,
				struct module *m)
{
	const struct lang_memo_key key = { .start_ns = h->p->start_ns,
					   .addr = instance,
					   .pid = h->p->pid,
					   .what = V8_MEMO_MODULE };
	const uint64_t *known;
	uint64_t *found;
	int32_t index = -1;
	size_t len = 0;

	known = lang_memo_get(h->p->memo, &key, &len);
	if (known && len == sizeof(*known) && module_open(m, h, *known) == 0)
		index = find_function(m, pc);
	if (index >= 0)
		return index;
	index = search_instance(h, instance, pc, m);
	if (index < 0)
		return index;
	found = malloc(sizeof(*found));
	if (found) {
		*found = m->at;
		lang_memo_put(h->p->memo, &key, found, sizeof(*found));
	}
	return index;
}

/* ---- a module's bytes ------------------------------------------------------------- */

struct bytes {
	const struct v8_heap *h;
	uint64_t at, n;
};

static bool find_bytes(const struct module *m, struct bytes *out)
{
	static const uint8_t magic[] = { 0, 'a', 's', 'm' };

	for (size_t i = 0; i < m->n; i++) {
		uint64_t range[2];
		uint8_t head[sizeof(magic)];

		if (!is_pointer(m->words[i]) ||
		    v8_get(m->h, m->words[i], range, sizeof(range)) < 0 || range[1] < 8 ||
		    range[1] > BYTES_MAX || v8_get(m->h, range[0], head, sizeof(head)) < 0 ||
		    memcmp(head, magic, sizeof(magic)) != 0)
			continue;
		*out = (struct bytes){ m->h, range[0], range[1] };
		return true;
	}
	return false;
}

/* A part of the module's bytes that was read. */
struct piece {
	const uint8_t *data;
	size_t n, at;
};

static uint32_t next_byte(struct piece *p)
{
	return p->at < p->n ? p->data[p->at++] : 0;
}

static uint32_t next_number(struct piece *p)
{
	uint32_t v = 0;

	for (uint32_t shift = 0; shift < 35; shift += 7) {
		uint32_t b = next_byte(p);

		v |= shift < 32 ? (b & 0x7f) << shift : 0;
		if (!(b & 0x80))
			break;
	}
	return v;
}

/* Reads the header of the section at @at. Returns its id, and its content in @out. */
static uint32_t open_section(const struct bytes *b, uint64_t at, struct bytes *out)
{
	uint8_t head[SECTION_HEAD] = { 0 };
	struct piece p = { head, b->n - at < sizeof(head) ? b->n - at : sizeof(head), 0 };
	uint32_t id, n;

	if (v8_get(b->h, b->at + at, head, p.n) < 0)
		p.n = 0;
	id = next_byte(&p);
	n = next_number(&p);
	at += p.at;
	*out = (struct bytes){ b->h, b->at + at, n <= b->n - at ? n : b->n - at };
	return id;
}

/* Finds the content of the name section. */
static bool find_names(const struct bytes *b, struct bytes *out)
{
	static const uint8_t name[] = { 4, 'n', 'a', 'm', 'e' };
	uint64_t at = 8;

	for (int i = 0; i < SECTIONS_MAX && at < b->n; i++) {
		uint8_t head[sizeof(name)];
		uint32_t id = open_section(b, at, out);

		if (id == SECTION_CUSTOM && out->n > sizeof(name) &&
		    v8_get(b->h, out->at, head, sizeof(head)) == 0 &&
		    !memcmp(head, name, sizeof(name))) {
			out->at += sizeof(name);
			out->n -= sizeof(name);
			return true;
		}
		at = out->at - b->at + out->n;
	}
	return false;
}

/* Finds the function names within the name section. */
static bool find_functions(const struct bytes *names, struct bytes *out)
{
	uint64_t at = 0;

	for (int i = 0; i < SECTIONS_MAX && at < names->n; i++) {
		if (open_section(names, at, out) == NAMES_OF_FUNCTIONS)
			return true;
		at = out->at - names->at + out->n;
	}
	return false;
}

/* Appends the name of function @index. @p has a count, followed by indices, each with a name. */
static void put_indexed_name(struct piece *p, uint32_t index, struct buf *out)
{
	uint32_t n = next_number(p);

	for (uint32_t i = 0; i < n && p->at < p->n; i++) {
		uint32_t number = next_number(p), len = next_number(p);

		if (len > p->n - p->at)
			return;
		if (number == index) {
			for (uint32_t k = 0; k < len && k < LANG_NAME_MAX; k++) {
				uint8_t c = p->data[p->at + k];

				buf_put_byte(out, c < 0x20 || c == 0x7f ? '?' : c);
			}
			return;
		}
		p->at += len;
	}
}

static int put_own_name(const struct bytes *b, uint32_t index, struct buf *out)
{
	struct bytes names, functions;
	struct piece p = { 0 };
	uint8_t *data;

	if (!find_names(b, &names) || !find_functions(&names, &functions))
		return 0;
	p.n = functions.n < NAMES_MAX ? functions.n : NAMES_MAX;
	data = malloc(p.n + 1);
	if (!data)
		return -ENOMEM;
	p.data = data;
	if (v8_get(b->h, functions.at, data, p.n) == 0)
		put_indexed_name(&p, index, out);
	free(data);
	return 0;
}

/* ---- frames ------------------------------------------------------------------------ */

/*
 * Combines the function's index with bits that identify the module, since another one may have
 * the same address later.
 */
static uint32_t cookie_of(const struct module *m, uint32_t index)
{
	struct bytes b = { 0 };

	(void)find_bytes(m, &b);
	return index | (lang_cookie(b.at) << INDEX_BITS) | 1u << INDEX_BITS;
}

int v8_find_wasm(const struct v8_heap *h, uint64_t instance, uint64_t pc, struct lang_call *out)
{
	struct module m;
	int32_t index = instance ? find_by_instance(h, instance, pc, &m) : -1;

	if (index < 0)
		return -ENOENT;
	*out = (struct lang_call){ .addr = m.at | V8_IS_WASM,
				   .cookie = cookie_of(&m, (uint32_t)index),
				   .place = V8_POSITION_NONE };
	return 0;
}

int v8_put_wasm(const struct v8_heap *h, uint64_t module, uint32_t cookie, struct buf *out)
{
	uint32_t index = cookie & ((1u << INDEX_BITS) - 1);
	struct bytes b;
	struct module m;

	if (module_open(&m, h, module) < 0 || cookie_of(&m, index) != cookie)
		return -ESTALE;
	if (find_bytes(&m, &b) && put_own_name(&b, index, out) < 0)
		return -ENOMEM;
	if (!out->len)
		buf_printf(out, "wasm-function[%u]", index);
	return 0;
}
