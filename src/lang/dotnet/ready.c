/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Precompiled code (ReadyToRun; readytorun-format.md of the runtime). The image has a table of
 * functions, sorted by address, and two tables that lead from a method to the number of its first
 * function: an array by the method's number, and a hash table of the instances of generic methods.
 * Both are read as a whole, once for each image, and reversed. Functions of a method beyond its
 * first one, which are its handlers, follow that one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "lang/dotnet/dotnet.h"
#include "lang/memo.h"

enum {
	READY_SIGNATURE = 0x00525452,
	READY_PACKED_VERSION = 16, /* from here on, debug info has the form of .NET 10 */
	SECTIONS_MAX = 64,
	SECTION_FUNCTIONS = 102,
	SECTION_METHODS = 103,
	SECTION_DEBUG = 105,
	SECTION_INSTANCES = 109,
	SECTION_BYTES_MAX = 16 << 20,
	FUNCTIONS_MAX = 1 << 20,
	METHODS_MAX = 1 << 20,
	BLOCK = 16, /* elements of a native array with a common root */
	TYPE_DEPTH_MAX = 16,
	TYPE_ARGUMENTS_MAX = 64,
	MEMO_METHODS = 0x646e6574, /* lang_memo_key.what */
};

struct section {
	uint32_t rva, size;
};

/* The parts of the header that are needed. */
struct ready {
	struct section functions, methods, instances, debug;
	uint16_t version;
};

/* The first function of a method. */
struct entry {
	uint32_t function, rid;
};

struct entries {
	VEC(struct entry);
};

/*
 * A section: a copy of it, or where it is in the process. Reads outside of it yield zeros and set
 * the flag.
 */
struct blob {
	const uint8_t *data; /* NULL: it is read from @p at @base */
	const struct lang_process *p;
	uint64_t base;
	uint32_t len;
	bool is_bad;
};

static int read_header(const struct dotnet_image *img, struct ready *out)
{
	uint32_t head[4] = { 0 }, section[3] = { 0 };
	uint64_t at;
	int r = img->ready ? dotnet_image_address(img, img->ready, sizeof(head), &at) : -ENOENT;

	*out = (struct ready){ 0 };
	if (r == 0)
		r = dotnet_read_bytes(img->p, at, head, sizeof(head));
	if (r < 0 || head[0] != READY_SIGNATURE || head[3] > SECTIONS_MAX)
		return r < 0 ? r : -EBADMSG;
	out->version = (uint16_t)head[1];
	for (uint32_t i = 0; i < head[3] && r == 0; i++) {
		r = dotnet_read_bytes(img->p, at + sizeof(head) + i * sizeof(section), section,
				      sizeof(section));
		if (section[0] == SECTION_FUNCTIONS)
			out->functions = (struct section){ section[1], section[2] };
		if (section[0] == SECTION_METHODS)
			out->methods = (struct section){ section[1], section[2] };
		if (section[0] == SECTION_DEBUG)
			out->debug = (struct section){ section[1], section[2] };
		if (section[0] == SECTION_INSTANCES)
			out->instances = (struct section){ section[1], section[2] };
	}
	return r < 0 ? r : out->functions.size && out->methods.size ? 0 : -ENOENT;
}

/* Reads a section; the caller frees the data. */
static int read_section(const struct dotnet_image *img, const struct section *s, uint8_t **out)
{
	_cleanup_(freep) uint8_t *data = NULL;
	uint64_t at;
	int r = s->size > SECTION_BYTES_MAX ? -EBADMSG
					    : dotnet_image_address(img, s->rva, s->size, &at);

	if (r < 0)
		return r;
	data = malloc(s->size + 1);
	if (!data)
		return -ENOMEM;
	r = dotnet_read_bytes(img->p, at, data, s->size);
	if (r == 0)
		*out = steal_ptr(&data);
	return r;
}

/* ---- numbers ---------------------------------------------------------------------- */

static uint32_t get(struct blob *b, uint32_t at, uint32_t width)
{
	uint32_t v = 0;

	if (at > b->len || width > b->len - at)
		b->is_bad = true;
	else if (b->data)
		memcpy(&v, b->data + at, width);
	else if (dotnet_read_bytes(b->p, b->base + at, &v, width) < 0)
		b->is_bad = true;
	return b->is_bad ? 0 : v;
}

/* The number of bytes of a number: its low bits that are set, plus 1. */
static uint32_t number_bytes(uint32_t first)
{
	for (uint32_t n = 1; n < 5; n++, first >>= 1)
		if (!(first & 1))
			return n;
	return 5;
}

/* Reads the number at *@at, which has 7 bits for each of 1 to 4 bytes, or 32 in 5 bytes. */
static uint32_t number(struct blob *b, uint32_t *at)
{
	uint32_t n = number_bytes(get(b, *at, 1)), from = *at;

	*at += n;
	return n == 5 ? get(b, from + 1, 4) : get(b, from, n) >> n;
}

static int32_t signed_number(struct blob *b, uint32_t *at)
{
	uint32_t n = number_bytes(get(b, *at, 1)), v = number(b, at);

	return n == 5 ? (int32_t)v : (int32_t)(v << (32 - 7 * n)) >> (32 - 7 * n);
}

/* The number of the first function, with which an entry of both tables ends. */
static uint32_t function_at(struct blob *b, uint32_t at)
{
	uint32_t v = number(b, &at);

	return v & 1 ? v >> 2 : v >> 1;
}

static int add_entry(struct entries *out, uint32_t function, uint32_t rid)
{
	if (out->len >= METHODS_MAX)
		return -E2BIG;
	return vec_push(out, (struct entry){ function, rid });
}

/* ---- the array of methods --------------------------------------------------------- */

struct array {
	struct blob *b;
	uint32_t base, width;
};

/* Follows the tree of the block of element @i. Returns false if the element is not there. */
static bool find_element(const struct array *a, uint32_t i, uint32_t *out)
{
	uint32_t at = a->base + get(a->b, a->base + i / BLOCK * a->width, a->width);

	for (uint32_t bit = BLOCK / 2; bit; bit /= 2) {
		uint32_t next = at, v = number(a->b, &next);

		if (i & bit && v & 2) {
			at += v >> 2;
			continue;
		}
		if (!(i & bit) && v & 1) {
			at = next;
			continue;
		}
		/* the only element below here */
		if (v & 3 || v >> 2 != (i & (BLOCK - 1)))
			return false;
		*out = next;
		return true;
	}
	*out = at;
	return true;
}

static int add_methods(struct blob *b, struct entries *out)
{
	uint32_t at = 0, head = number(b, &at), n = head >> 2, element;
	const struct array a = { b, at, 1u << (head & 3) };
	int r = 0;

	if ((head & 3) > 2 || n > METHODS_MAX)
		return -EBADMSG;
	for (uint32_t i = 0; i < n && r == 0 && !b->is_bad; i++)
		if (find_element(&a, i, &element))
			r = add_entry(out, function_at(b, element), i + 1);
	return r < 0 ? r : b->is_bad ? -EBADMSG : 0;
}

/* ---- instances of generic methods ------------------------------------------------- */

enum {
	SIGNATURE_ARGUMENTS = 0x04, /* flags of a method's signature */
	SIGNATURE_OTHER = 0x38,     /* a slot, a reference, a constraint: not in this table */
	SIGNATURE_OWNER = 0x40,
	SIGNATURE_CONTEXT = 0x80, /* the method is of another module */
	TYPE_PTR = 0x0f,          /* ELEMENT_TYPE_: II.23.1.16, and those of ReadyToRun */
	TYPE_BYREF = 0x10,
	TYPE_VALUETYPE = 0x11,
	TYPE_CLASS = 0x12,
	TYPE_VAR = 0x13,
	TYPE_ARRAY = 0x14,
	TYPE_GENERIC = 0x15,
	TYPE_SZARRAY = 0x1d,
	TYPE_MVAR = 0x1e,
	TYPE_NATIVE = 0x3d,
	TYPE_MODULE = 0x3f,
};

/* Reads a compressed number (II.23.2). */
static uint32_t compressed(struct blob *b, uint32_t *at)
{
	uint32_t v = get(b, *at, 1);

	if (!(v & 0x80)) {
		*at += 1;
		return v;
	}
	if (!(v & 0x40)) {
		v = (v & 0x3f) << 8 | get(b, *at + 1, 1);
		*at += 2;
		return v;
	}
	v = (v & 0x1f) << 24 | get(b, *at + 1, 1) << 16 | get(b, *at + 2, 1) << 8 |
	    get(b, *at + 3, 1);
	*at += 4;
	return v;
}

/* Skips the bounds of an array: rank, sizes, lower bounds. */
static void skip_bounds(struct blob *b, uint32_t *at)
{
	compressed(b, at);
	for (int lists = 0; lists < 2; lists++)
		for (uint32_t n = compressed(b, at); n && !b->is_bad; n--)
			compressed(b, at);
}

/* Skips a type. It is counted in @depth how far types are within each other. */
static void skip_type(struct blob *b, uint32_t *at, int depth)
{
	uint32_t kind = get(b, *at, 1), n;

	*at += 1;
	if (depth > TYPE_DEPTH_MAX)
		b->is_bad = true;
	if (b->is_bad)
		return;
	if (kind == TYPE_VALUETYPE || kind == TYPE_CLASS || kind == TYPE_VAR || kind == TYPE_MVAR)
		compressed(b, at);
	if (kind == TYPE_MODULE)
		compressed(b, at);
	if (kind == TYPE_MODULE || kind == TYPE_PTR || kind == TYPE_BYREF || kind == TYPE_SZARRAY ||
	    kind == TYPE_NATIVE || kind == TYPE_ARRAY || kind == TYPE_GENERIC)
		skip_type(b, at, depth + 1);
	if (kind == TYPE_ARRAY)
		skip_bounds(b, at);
	if (kind != TYPE_GENERIC)
		return;
	n = compressed(b, at);
	b->is_bad |= n > TYPE_ARGUMENTS_MAX;
	while (n-- && !b->is_bad)
		skip_type(b, at, depth + 1);
}

/* Reads one instance: the signature of the method, and the number of its function. */
static int add_instance(struct blob *b, uint32_t at, struct entries *out)
{
	uint32_t flags = compressed(b, &at), rid, n;

	if (flags & SIGNATURE_OTHER)
		return 0;
	if (flags & SIGNATURE_CONTEXT)
		compressed(b, &at);
	if (flags & SIGNATURE_OWNER)
		skip_type(b, &at, 0);
	rid = compressed(b, &at);
	n = flags & SIGNATURE_ARGUMENTS ? compressed(b, &at) : 0;
	b->is_bad |= n > TYPE_ARGUMENTS_MAX;
	while (n-- && !b->is_bad)
		skip_type(b, &at, 0);
	if (b->is_bad)
		return -EBADMSG;
	return add_entry(out, function_at(b, at), flags & SIGNATURE_CONTEXT ? 0 : rid);
}

/*
 * Reads the hash table: for each bucket where its entries begin, then the entries: a byte of the
 * hash, and the distance of the instance.
 */
static int add_instances(struct blob *b, struct entries *out)
{
	uint32_t head = get(b, 0, 1), width = 1u << (head & 3), n = 1u << (head >> 2 & 31);
	uint32_t at, end;
	int r = 0;

	if ((head & 3) > 2 || n >= METHODS_MAX)
		return -EBADMSG;
	at = 1 + get(b, 1, width);
	end = 1 + get(b, 1 + n * width, width);
	/* the buckets are one after the other */
	while (at < end && r == 0 && !b->is_bad) {
		uint32_t from = ++at;
		int32_t distance = signed_number(b, &at);

		r = add_instance(b, from + (uint32_t)distance, out);
	}
	return r < 0 ? r : b->is_bad ? -EBADMSG : 0;
}

/* ---- all methods ------------------------------------------------------------------ */

static int by_function(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->function > y->function) - (x->function < y->function);
}

static int add_section(const struct dotnet_image *img, const struct section *s,
		       int (*add)(struct blob *, struct entries *), struct entries *out)
{
	_cleanup_(freep) uint8_t *data = NULL;
	struct blob b = { .len = s->size };
	int r = s->size ? read_section(img, s, &data) : 0;

	b.data = data;
	/* what precedes a malformed part is valid */
	if (r == 0 && s->size)
		r = add(&b, out);
	return r == -EBADMSG || r == -E2BIG ? 0 : r;
}

/* Returns the methods of the image, borrowed from the memo, sorted by function. */
static int get_methods(const struct dotnet_image *img, const struct ready *ready,
		       const struct entry **out, size_t *out_n)
{
	const struct lang_memo_key key = {
		.start_ns = img->p->start_ns,
		.addr = img->base,
		.size = ready->methods.rva,
		.pid = img->p->pid,
		.what = MEMO_METHODS,
	};
	struct entries all = { 0 };
	size_t len;
	int r = 0;

	*out = lang_memo_get(img->p->memo, &key, &len);
	if (!*out) {
		r = add_section(img, &ready->methods, add_methods, &all);
		if (r == 0)
			r = add_section(img, &ready->instances, add_instances, &all);
		if (r < 0 || !all.len) {
			vec_fini(&all);
			return r < 0 ? r : -ENOENT;
		}
		qsort(all.data, all.len, sizeof(*all.data), by_function);
		lang_memo_put(img->p->memo, &key, all.data, all.len * sizeof(*all.data));
		*out = lang_memo_get(img->p->memo, &key, &len);
	}
	*out_n = *out ? len / sizeof(**out) : 0;
	return *out ? 0 : -ENOMEM;
}

/* Finds the number of the function that begins at @rva. */
static int find_function(const struct dotnet_image *img, const struct ready *ready, uint32_t rva,
			 uint32_t *out)
{
	uint32_t lo = 0, n = ready->functions.size / DOTNET_FUNCTION_BYTES, begin = 0;
	uint64_t at;
	int r = n > FUNCTIONS_MAX ? -EBADMSG
				  : dotnet_image_address(img, ready->functions.rva,
							 ready->functions.size, &at);

	while (n > 1 && r == 0) {
		r = dotnet_read_bytes(img->p, at + (uint64_t)(lo + n / 2) * DOTNET_FUNCTION_BYTES,
				      &begin, sizeof(begin));
		lo += begin <= rva ? n / 2 : 0;
		n = begin <= rva ? n - n / 2 : n / 2;
	}
	if (r == 0)
		r = dotnet_read_bytes(img->p, at + (uint64_t)lo * DOTNET_FUNCTION_BYTES, &begin,
				      sizeof(begin));
	*out = lo;
	return r < 0 ? r : begin == rva ? 0 : -ENOENT;
}

/* Finds the method that has the function that begins at @rva. */
static int find_entry(const struct dotnet_image *img, const struct ready *ready, uint32_t rva,
		      struct entry *out)
{
	const struct entry *all;
	size_t lo = 0, n;
	uint32_t function;
	int r = find_function(img, ready, rva, &function);

	if (r == 0)
		r = get_methods(img, ready, &all, &n);
	if (r < 0)
		return r;
	if (all[0].function > function)
		return -ENOENT;
	while (n > 1) {
		bool is_upper = all[lo + n / 2].function <= function;

		lo += is_upper ? n / 2 : 0;
		n = is_upper ? n - n / 2 : n / 2;
	}
	*out = all[lo];
	return 0;
}

int dotnet_ready_method(const struct dotnet_image *img, uint32_t rva, uint32_t *out_rid)
{
	struct ready ready;
	struct entry e;
	int r = read_header(img, &ready);

	if (r == 0)
		r = find_entry(img, &ready, rva, &e);
	if (r < 0)
		return r;
	*out_rid = e.rid;
	return e.rid ? 0 : -ENOENT;
}

/* ---- debug info ------------------------------------------------------------------- */

/*
 * Finds the debug info of the method whose first function is @function: the element of an array,
 * which is the info itself after a zero, or how far before it an equal one is.
 */
static int find_debug_info(const struct dotnet_image *img, const struct ready *ready,
			   uint32_t function, uint64_t *out)
{
	struct blob b = { .p = img->p, .len = ready->debug.size };
	uint32_t at = 0, head, element = 0, back;
	struct array a = { .b = &b };
	int r = ready->debug.size
			? dotnet_image_address(img, ready->debug.rva, ready->debug.size, &b.base)
			: -ENOENT;

	if (r < 0)
		return r;
	head = number(&b, &at);
	a.base = at;
	a.width = 1u << (head & 3);
	if ((head & 3) > 2)
		return -EBADMSG;
	if (function >= head >> 2 || !find_element(&a, function, &element))
		return -ENOENT;
	at = element;
	back = number(&b, &at);
	*out = b.base + (back ? element - back : at);
	return b.is_bad || back > element ? -EBADMSG : 0;
}

/* Finds where function number @i begins. */
static int function_rva(const struct dotnet_image *img, const struct ready *ready, uint32_t i,
			uint32_t *out)
{
	uint64_t at;
	int r = dotnet_image_address(img, ready->functions.rva, ready->functions.size, &at);

	if (r == 0 && i >= ready->functions.size / DOTNET_FUNCTION_BYTES)
		r = -EBADMSG;
	return r < 0 ? r
		     : dotnet_read_bytes(img->p, at + (uint64_t)i * DOTNET_FUNCTION_BYTES, out,
					 sizeof(*out));
}

int dotnet_ready_il(const struct dotnet_image *img, uint32_t rva, uint32_t offset,
		    struct dotnet_il *out)
{
	struct dotnet_debug_form form = { 0 };
	struct ready ready;
	struct entry e;
	uint32_t first = 0;
	uint64_t at = 0;
	int r = read_header(img, &ready);

	*out = (struct dotnet_il){ 0 };
	if (r == 0)
		r = find_entry(img, &ready, rva, &e);
	if (r == 0)
		r = function_rva(img, &ready, e.function, &first);
	if (r == 0)
		r = find_debug_info(img, &ready, e.function, &at);
	if (r < 0)
		return r;
	form.is_packed = ready.version >= READY_PACKED_VERSION;
	/* offsets are those in the method, whose handlers follow its first function */
	return dotnet_debug_info_find(img->p, at, &form, rva - first + offset, out);
}
