/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of code that is not a function of the program. V8's builtins and the handlers of its
 * byte codes are linked into its file. One table has a row with offset and length for each of
 * them, another one their names. The size of a row differs between versions, so that several
 * are tried until one is consistent. Both tables are read from the process, since the names are
 * pointers that the loader relocates.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "lang/v8/reader.h"

enum {
	HASHES = 24, /* size of the hashes before the rows */
	ROWS_CHECKED = 64,
	ROWS_MAX = 8192,
	CODE_ALIGN = 32,
	CODE_MAX = 1 << 20, /* limit of a builtin's size in bytes */
	BLOBS_SINCE = 9,    /* first version with a separate metadata blob in all builds */
	OLD_HASHES = 16,
	OLD_ROW_BYTES = 8,
	ROW_MAX = 32,
	NAME_ROW = 24, /* size of a row in the table of names */
};

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

struct row {
	uint32_t offset, len;
};

static uint64_t bias_of(const struct v8_heap *h)
{
	return h->p->bias ? h->p->bias(h->p->ctx, h->vm_index) : 0;
}

/* ---- metadata of builtins ------------------------------------------------------------- */

static struct row row_at(const uint8_t *rows, size_t i, size_t stride)
{
	struct row row;

	memcpy(&row, rows + i * stride, sizeof(row));
	return row;
}

static bool is_row(const struct row *row, uint32_t code_bytes)
{
	return row->len && !(row->offset % CODE_ALIGN) && row->len <= code_bytes &&
	       row->offset <= code_bytes - row->len;
}

/* Returns the size of a row, or 0 if none of the known sizes fits the table. */
static size_t find_stride(const uint8_t *rows, size_t len, uint32_t code_bytes)
{
	static const size_t strides[] = { 8, 12, 16, 28, 32 };

	for (size_t k = 0; k < sizeof(strides) / sizeof(strides[0]); k++) {
		size_t i = 0;

		while (i < ROWS_CHECKED && (i + 1) * strides[k] <= len) {
			struct row row = row_at(rows, i, strides[k]);

			if (!is_row(&row, code_bytes))
				break;
			i++;
		}
		if (i == ROWS_CHECKED)
			return strides[k];
	}
	return 0;
}

/* Returns the index of the row whose code contains @offset, or -1. */
static int find_row(const uint8_t *rows, size_t len, size_t stride, uint32_t code_bytes,
		    uint32_t offset, struct row *out)
{
	for (size_t i = 0; stride && i < ROWS_MAX && (i + 1) * stride <= len; i++) {
		*out = row_at(rows, i, stride);
		if (!is_row(out, code_bytes))
			break; /* This is the data after the last row. */
		if (offset >= out->offset && offset - out->offset < out->len)
			return (int)i;
	}
	return -1;
}

/* Reads the metadata. The caller frees the result; NULL if it cannot be read. */
static uint8_t *read_table(const struct v8_heap *h, uint64_t at, size_t len)
{
	uint8_t *table = malloc(len + 1);

	if (table && v8_get(h, at + bias_of(h), table, len) == 0)
		return table;
	free(table);
	return NULL;
}

/*
 * Returns the number of rows of the layout up to 8.4, where they precede the code. Each row
 * must start at the aligned end of the row before.
 */
static size_t count_old_rows(const uint8_t *rows, size_t len)
{
	uint32_t next = 0;
	size_t i = 0;

	while ((i + 1) * OLD_ROW_BYTES <= len) {
		struct row row = row_at(rows, i, OLD_ROW_BYTES);

		if (row.offset != next || !row.len || row.len > CODE_MAX)
			break;
		next = (row.offset + row.len + CODE_ALIGN) & ~(uint32_t)(CODE_ALIGN - 1);
		i++;
	}
	return i;
}

static int find_old_builtin(const struct v8_heap *h, uint64_t offset, struct row *out)
{
	const struct v8_vm *vm = h->vm;
	size_t len = OLD_HASHES + ROWS_MAX * OLD_ROW_BYTES, n, code;
	uint8_t *table;
	int r = -1;

	if (len > vm->blob_code_bytes)
		len = vm->blob_code_bytes;
	if (len < OLD_HASHES)
		return -1;
	table = read_table(h, vm->blob_code, len);
	if (!table)
		return -1;
	n = count_old_rows(table + OLD_HASHES, len - OLD_HASHES) * OLD_ROW_BYTES;
	code = (OLD_HASHES + n + CODE_ALIGN) & ~(size_t)(CODE_ALIGN - 1);
	if (offset >= code)
		r = find_row(table + OLD_HASHES, n, OLD_ROW_BYTES,
			     vm->blob_code_bytes - (uint32_t)code, (uint32_t)(offset - code), out);
	free(table);
	return r;
}

/* Returns the index of the builtin at @offset in the blob, or -1 if it is not known. */
static int find_builtin(const struct v8_heap *h, uint64_t offset, struct row *out)
{
	const struct v8_vm *vm = h->vm;
	size_t len = vm->blob_data_bytes, head = vm->major < BLOBS_SINCE ? OLD_HASHES : HASHES;
	uint8_t *rows;
	int n;

	if (offset >= vm->blob_code_bytes)
		return -1;
	if (!vm->blob_data && vm->major < BLOBS_SINCE)
		return find_old_builtin(h, offset, out);
	if (len > ROWS_MAX * ROW_MAX)
		len = ROWS_MAX * ROW_MAX;
	if (!vm->blob_data || len <= head)
		return -1;
	rows = read_table(h, vm->blob_data, len);
	if (!rows)
		return -1;
	n = find_row(rows + head, len - head,
		     find_stride(rows + head, len - head, vm->blob_code_bytes), vm->blob_code_bytes,
		     (uint32_t)offset, out);
	free(rows);
	return n;
}

/* ---- names ------------------------------------------------------------------------------ */

/* Reads the name of builtin @n. Returns false if it has none. */
static bool get_name(const struct v8_heap *h, int32_t n, char name[V8_BUILTIN_NAME_BYTES])
{
	uint64_t at;

	if (n < 0 || n >= ROWS_MAX || !h->vm->builtin_names ||
	    v8_get(h, h->vm->builtin_names + bias_of(h) + (uint64_t)n * NAME_ROW, &at, sizeof(at)) <
		    0)
		return false;
	memset(name, 0, V8_BUILTIN_NAME_BYTES);
	/*
	 * The memory after the name may be unmapped, so the length is halved until the read
	 * succeeds.
	 */
	for (size_t len = V8_BUILTIN_NAME_BYTES - 1; len && v8_get(h, at, name, len) < 0; len /= 2)
		memset(name, 0, V8_BUILTIN_NAME_BYTES);
	name[strspn(name, NAME_CHARACTERS)] = '\0';
	return *name;
}

void v8_put_builtin(const struct v8_heap *h, int32_t n, struct buf *out)
{
	char name[V8_BUILTIN_NAME_BYTES];

	if (get_name(h, n, name))
		buf_printf(out, "[builtin: %s]", name);
	else
		buf_put_str(out, "[builtin]");
}

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n >= m && !strcmp(name + n - m, end);
}

/* Returns whether the builtin only enters or leaves functions, or interprets byte code. */
static bool is_trampoline(const char *name)
{
	static const char *const prefixes[] = { "JSEntry",
						"JSConstructEntry",
						"JSRunMicrotasksEntry",
						"CEntry_",
						"Call_",
						"CallFunction_",
						"Construct",
						"JSConstruct",
						"Interpreter",
						"BaselineOrInterpreter",
						"ArgumentsAdaptor" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return ends_with(name, "Handler");
}

int v8_expand_builtin(const struct v8_heap *h, uint64_t file_off, bool fold,
		      struct lang_call out[LANG_CALLS_MAX])
{
	char name[V8_BUILTIN_NAME_BYTES];
	struct row row = { 0 };
	int n = -1;

	if (file_off >= h->vm->blob_lo && file_off < h->vm->blob_hi)
		n = find_builtin(h, file_off - h->vm->blob_lo, &row);
	if (fold && n >= 0 && get_name(h, n, name) && is_trampoline(name))
		return 0;
	out[0] = (struct lang_call){ .addr = (uint64_t)(n + 1) << 2 | V8_IS_BUILTIN, .cookie = 1 };
	return 1;
}

/* Returns the name of generated code, depending on its frame's type and on its Code object. */
static const char *stub_name(const struct v8_heap *h, uint64_t pc, uint32_t type)
{
	struct v8_code code;

	if (type == V8_TYPE_COLLECTOR)
		return "(garbage collection)";
	if (h->vm->f.frame_wasm != V8_ABSENT && type == (uint32_t)h->vm->f.frame_wasm)
		return "[WebAssembly]";
	if (v8_find_code(h, pc, &code) < 0)
		return "[generated code]";
	return code.kind == h->shape.kind_regexp ? "[regular expression]" : "[stub]";
}

/* Appends the name of the code, whose kind is in the low bits of @addr. */
static int put_code(const struct v8_heap *h, uint64_t addr, uint32_t cookie, uint32_t type,
		    struct buf *out)
{
	switch (addr & V8_IS_MASK) {
	case V8_IS_WASM:
		return v8_put_wasm(h, addr & ~(uint64_t)V8_IS_MASK, cookie, out);
	case V8_IS_BUILTIN:
		v8_put_builtin(h, addr >> 2 <= ROWS_MAX ? (int32_t)(addr >> 2) - 1 : -1, out);
		return 0;
	default:
		buf_put_str(out, stub_name(h, addr & ~(uint64_t)V8_IS_MASK, type));
		return 0;
	}
}

int v8_read_code(const struct v8_heap *h, uint64_t addr, uint32_t cookie, struct lang_function *out)
{
	struct buf b = { 0 };
	int r = cookie ? put_code(h, addr, cookie, out->place, &b) : -ESTALE;

	buf_put_byte(&b, '\0');
	if (r == 0)
		out->file = strdup("");
	if (r == 0 && (!out->file || buf_error(&b)))
		r = -ENOMEM;
	if (r < 0) {
		buf_fini(&b);
		return r;
	}
	out->name = (char *)b.data;
	return 0;
}
