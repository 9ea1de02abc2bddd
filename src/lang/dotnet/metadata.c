/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names from the metadata of an assembly (ECMA-335 II.22, II.24). It consists of tables without any
 * index, whose rows have columns of 2 or 4 bytes, depending on how many rows other tables have. All
 * tables up to the last that is needed must be sized to find it.
 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "lang/dotnet/dotnet.h"

enum {
	TYPE_DEF = 0x02,
	METHOD_DEF = 0x06,
	NESTED_CLASS = 0x29,
	ROOT_BYTES = 256, /* of the metadata's root, with the names of its streams */
	TABLES_HEAD = 24,
	ROWS_MAX = 1 << 24,
	NAME_BYTES = 512,
	NESTING_MAX = 8,
	STREAMS_MAX = 8,
	ROW_BYTES_MAX = 64,
};

/*
 * A column: a number of bytes, a heap, a reference to a table, or one to a row of several tables
 * (II.24.2.6), for which the number of bits and a list of tables follow.
 */
enum {
	END = 0x80,
	BYTES_2,
	BYTES_4,
	STRING,
	GUID,
	BLOB,
	CODED = 0xc0, /* plus an index in coded[] */
};

enum coded_index {
	TYPE_DEF_OR_REF,
	HAS_CONSTANT,
	HAS_CUSTOM_ATTRIBUTE,
	HAS_FIELD_MARSHAL,
	HAS_DECL_SECURITY,
	MEMBER_REF_PARENT,
	HAS_SEMANTICS,
	METHOD_DEF_OR_REF,
	MEMBER_FORWARDED,
	IMPLEMENTATION,
	CUSTOM_ATTRIBUTE_TYPE,
	RESOLUTION_SCOPE,
	CODED_MAX,
};

enum { CODED_TABLES = 23 };

static const uint8_t coded[CODED_MAX][CODED_TABLES] = {
	[TYPE_DEF_OR_REF] = { 2, 0x02, 0x01, 0x1b, END },
	[HAS_CONSTANT] = { 2, 0x04, 0x08, 0x17, END },
	[HAS_CUSTOM_ATTRIBUTE] = { 5,    0x06, 0x04, 0x01, 0x02, 0x08, 0x09, 0x0a,
				   0x00, 0x0e, 0x17, 0x14, 0x11, 0x1a, 0x1b, 0x20,
				   0x23, 0x26, 0x27, 0x28, 0x2a, 0x2c, 0x2b },
	[HAS_FIELD_MARSHAL] = { 1, 0x04, 0x08, END },
	[HAS_DECL_SECURITY] = { 2, 0x02, 0x06, 0x20, END },
	[MEMBER_REF_PARENT] = { 3, 0x02, 0x01, 0x1a, 0x06, 0x1b, END },
	[HAS_SEMANTICS] = { 1, 0x14, 0x17, END },
	[METHOD_DEF_OR_REF] = { 1, 0x06, 0x0a, END },
	[MEMBER_FORWARDED] = { 1, 0x04, 0x06, END },
	[IMPLEMENTATION] = { 2, 0x26, 0x23, 0x27, END },
	[CUSTOM_ATTRIBUTE_TYPE] = { 3, 0x06, 0x0a, END },
	[RESOLUTION_SCOPE] = { 2, 0x00, 0x1a, 0x23, 0x01, END },
};

enum { COLUMNS_MAX = 10 };

#define C(index) (CODED + (index))
static const uint8_t columns[NESTED_CLASS + 1][COLUMNS_MAX] = {
	[0x00] = { BYTES_2, STRING, GUID, GUID, GUID, END },
	[0x01] = { C(RESOLUTION_SCOPE), STRING, STRING, END },
	[0x02] = { BYTES_4, STRING, STRING, C(TYPE_DEF_OR_REF), 0x04, 0x06, END },
	[0x03] = { 0x04, END },
	[0x04] = { BYTES_2, STRING, BLOB, END },
	[0x05] = { 0x06, END },
	[0x06] = { BYTES_4, BYTES_2, BYTES_2, STRING, BLOB, 0x08, END },
	[0x07] = { 0x08, END },
	[0x08] = { BYTES_2, BYTES_2, STRING, END },
	[0x09] = { 0x02, C(TYPE_DEF_OR_REF), END },
	[0x0a] = { C(MEMBER_REF_PARENT), STRING, BLOB, END },
	[0x0b] = { BYTES_2, C(HAS_CONSTANT), BLOB, END },
	[0x0c] = { C(HAS_CUSTOM_ATTRIBUTE), C(CUSTOM_ATTRIBUTE_TYPE), BLOB, END },
	[0x0d] = { C(HAS_FIELD_MARSHAL), BLOB, END },
	[0x0e] = { BYTES_2, C(HAS_DECL_SECURITY), BLOB, END },
	[0x0f] = { BYTES_2, BYTES_4, 0x02, END },
	[0x10] = { BYTES_4, 0x04, END },
	[0x11] = { BLOB, END },
	[0x12] = { 0x02, 0x14, END },
	[0x13] = { 0x14, END },
	[0x14] = { BYTES_2, STRING, C(TYPE_DEF_OR_REF), END },
	[0x15] = { 0x02, 0x17, END },
	[0x16] = { 0x17, END },
	[0x17] = { BYTES_2, STRING, BLOB, END },
	[0x18] = { BYTES_2, 0x06, C(HAS_SEMANTICS), END },
	[0x19] = { 0x02, C(METHOD_DEF_OR_REF), C(METHOD_DEF_OR_REF), END },
	[0x1a] = { STRING, END },
	[0x1b] = { BLOB, END },
	[0x1c] = { BYTES_2, C(MEMBER_FORWARDED), STRING, 0x1a, END },
	[0x1d] = { BYTES_4, 0x04, END },
	[0x1e] = { BYTES_4, BYTES_4, END },
	[0x1f] = { BYTES_4, END },
	[0x20] = { BYTES_4, BYTES_4, BYTES_4, BYTES_4, BLOB, STRING, STRING, END },
	[0x21] = { BYTES_4, END },
	[0x22] = { BYTES_4, BYTES_4, BYTES_4, END },
	[0x23] = { BYTES_4, BYTES_4, BYTES_4, BLOB, STRING, STRING, BLOB, END },
	[0x24] = { BYTES_4, 0x23, END },
	[0x25] = { BYTES_4, BYTES_4, BYTES_4, 0x23, END },
	[0x26] = { BYTES_4, STRING, BLOB, END },
	[0x27] = { BYTES_4, BYTES_4, STRING, STRING, C(IMPLEMENTATION), END },
	[0x28] = { BYTES_4, BYTES_4, STRING, C(IMPLEMENTATION), END },
	[0x29] = { 0x02, 0x02, END },
};
#undef C

/* ---- the layout ------------------------------------------------------------------- */

/* The widths of references to heaps: bits of the byte in the head of the tables. */
enum { WIDE_STRINGS = 1, WIDE_GUIDS = 2, WIDE_BLOBS = 4, HAS_EXTRA = 0x40 };

struct layout {
	struct dotnet_metadata *m;
	uint8_t heaps;
};

/* The width of a reference to a row of any of several tables. */
static unsigned int coded_width(const struct dotnet_metadata *m, const uint8_t *tables)
{
	uint32_t most = 0;

	for (size_t i = 1; i < CODED_TABLES && tables[i] != END; i++)
		if (m->n_rows[tables[i]] > most)
			most = m->n_rows[tables[i]];
	return most < 1u << (16 - tables[0]) ? 2 : 4;
}

static unsigned int column_width(const struct layout *l, uint8_t column)
{
	switch (column) {
	case BYTES_2:
		return 2;
	case BYTES_4:
		return 4;
	case STRING:
		return l->heaps & WIDE_STRINGS ? 4 : 2;
	case GUID:
		return l->heaps & WIDE_GUIDS ? 4 : 2;
	case BLOB:
		return l->heaps & WIDE_BLOBS ? 4 : 2;
	default:
		if (column >= CODED)
			return coded_width(l->m, coded[column - CODED]);
		return column < DOTNET_TABLES && l->m->n_rows[column] >= 1u << 16 ? 4 : 2;
	}
}

static uint16_t row_bytes(const struct layout *l, uint32_t table)
{
	unsigned int n = 0;

	for (size_t i = 0; i < COLUMNS_MAX && columns[table][i] != END; i++)
		n += column_width(l, columns[table][i]);
	return (uint16_t)n;
}

/* Reads the head of the tables at @at, which have @len bytes, and places each table. */
static int read_tables(const struct lang_process *p, uint64_t at, uint32_t len,
		       struct dotnet_metadata *out)
{
	uint8_t head[TABLES_HEAD];
	uint64_t valid, next = at + TABLES_HEAD, end = at + len;
	struct layout l = { .m = out };
	int r = dotnet_read_bytes(p, at, head, sizeof(head));

	memcpy(&valid, head + 8, sizeof(valid));
	l.heaps = head[6];
	out->string_width = l.heaps & WIDE_STRINGS ? 4 : 2;
	for (uint32_t i = 0; i < 64 && r == 0; i++) {
		uint32_t n = 0;

		if (!(valid >> i & 1))
			continue;
		r = i >= DOTNET_TABLES ? -EBADMSG : dotnet_read_bytes(p, next, &n, sizeof(n));
		if (r < 0 || n > ROWS_MAX)
			return r < 0 ? r : -EBADMSG;
		out->n_rows[i] = n;
		next += sizeof(n);
	}
	next += l.heaps & HAS_EXTRA ? 4 : 0;
	for (uint32_t i = 0; i <= NESTED_CLASS && r == 0; i++) {
		out->row_bytes[i] = row_bytes(&l, i);
		out->at[i] = next;
		next += (uint64_t)out->n_rows[i] * out->row_bytes[i];
	}
	return r < 0 ? r : next <= end ? 0 : -EBADMSG;
}

/* A stream: its offset and size, and a name that is padded to 4 bytes. */
static int take_stream(const struct dotnet_root *root, const uint8_t *head, size_t len, size_t *at,
		       struct dotnet_heap *out, size_t n)
{
	uint32_t off, size;
	const char *name;
	size_t name_len;

	if (*at + 8 >= len)
		return -EBADMSG;
	memcpy(&off, head + *at, 4);
	memcpy(&size, head + *at + 4, 4);
	name = (const char *)head + *at + 8;
	name_len = strnlen(name, len - *at - 8);
	if (off > root->bytes || size > root->bytes - off)
		return -EBADMSG;
	*at += 8 + (name_len / 4 + 1) * 4;
	for (size_t i = 0; i < n; i++)
		if (strlen(out[i].name) == name_len && !memcmp(out[i].name, name, name_len)) {
			out[i].at = root->at + off;
			out[i].bytes = size;
		}
	return 0;
}

int dotnet_root_read(const struct dotnet_root *root, struct dotnet_heap *out, size_t n)
{
	uint8_t head[ROOT_BYTES];
	size_t len = root->bytes < ROOT_BYTES ? root->bytes : ROOT_BYTES, at;
	uint32_t signature, version_len;
	uint16_t n_streams;
	int r = dotnet_read_bytes(root->p, root->at, head, len);

	if (r < 0 || len < 20)
		return r < 0 ? r : -EBADMSG;
	memcpy(&signature, head, 4);
	memcpy(&version_len, head + 12, 4);
	if (signature != DOTNET_METADATA_SIGNATURE || version_len > len - 20)
		return -EBADMSG;
	at = 16 + version_len + 4;
	memcpy(&n_streams, head + at - 2, 2);
	for (uint16_t i = 0; i < n_streams && i < STREAMS_MAX && r == 0; i++)
		r = take_stream(root, head, len, &at, out, n);
	return r;
}

int dotnet_metadata_open(const struct dotnet_image *img, struct dotnet_metadata *out)
{
	const struct dotnet_root root = { img->p, img->metadata, img->metadata_bytes };
	struct dotnet_heap heaps[] = { { .name = "#Strings" }, { .name = "#~" } };
	int r = dotnet_root_read(&root, heaps, 2);

	*out = (struct dotnet_metadata){ .strings = heaps[0].at, .strings_bytes = heaps[0].bytes };
	if (r == 0 && heaps[1].bytes)
		r = read_tables(img->p, heaps[1].at, heaps[1].bytes, out);
	return r < 0 ? r : out->strings && out->n_rows[METHOD_DEF] ? 0 : -EBADMSG;
}

/* ---- rows ------------------------------------------------------------------------- */

struct reader {
	const struct lang_process *p;
	const struct dotnet_metadata *m;
};

/* Reads row @rid, from 1, of a table. */
static int read_row(const struct reader *d, uint32_t table, uint32_t rid,
		    uint8_t row[ROW_BYTES_MAX])
{
	if (!rid || rid > d->m->n_rows[table] || d->m->row_bytes[table] > ROW_BYTES_MAX)
		return -ENOENT;
	return dotnet_read_bytes(d->p,
				 d->m->at[table] + (uint64_t)(rid - 1) * d->m->row_bytes[table],
				 row, d->m->row_bytes[table]);
}

static uint32_t get(const uint8_t *row, size_t at, size_t width)
{
	uint32_t v = 0;

	memcpy(&v, row + at, width);
	return v;
}

static size_t index_width(const struct reader *d, uint32_t table)
{
	return d->m->n_rows[table] < 1u << 16 ? 2 : 4;
}

static int read_string(const struct reader *d, uint32_t off, char out[NAME_BYTES])
{
	size_t len;
	int r;

	if (off >= d->m->strings_bytes)
		return -EBADMSG;
	len = d->m->strings_bytes - off < NAME_BYTES - 1 ? d->m->strings_bytes - off
							 : NAME_BYTES - 1;
	r = dotnet_read_bytes(d->p, d->m->strings + off, out, len);
	out[r < 0 ? 0 : len] = '\0';
	for (char *c = out; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return r;
}

/* The first method of a type: its last column. */
static int first_method(const struct reader *d, uint32_t type, uint32_t *out)
{
	uint8_t row[ROW_BYTES_MAX];
	size_t width = index_width(d, METHOD_DEF);
	int r = read_row(d, TYPE_DEF, type, row);

	if (r == 0)
		*out = get(row, d->m->row_bytes[TYPE_DEF] - width, width);
	return r;
}

/* Finds the type to which method @rid belongs: the last one whose first method is not after it. */
static int owner_of(const struct reader *d, uint32_t rid, uint32_t *out)
{
	uint32_t lo = 1, n = d->m->n_rows[TYPE_DEF], first = 0;
	int r = n ? 0 : -ENOENT;

	while (n > 1 && r == 0) {
		r = first_method(d, lo + n / 2, &first);
		if (r == 0 && first <= rid)
			lo += n / 2;
		n = first <= rid ? n - n / 2 : n / 2;
	}
	*out = lo;
	return r;
}

/* Finds the type in which @type is nested. -ENOENT: in none. */
static int outer_of(const struct reader *d, uint32_t type, uint32_t *out)
{
	uint32_t lo = 1, n = d->m->n_rows[NESTED_CLASS];
	size_t width = index_width(d, TYPE_DEF);
	uint8_t row[ROW_BYTES_MAX];
	int r = n ? 0 : -ENOENT;

	while (n > 1 && r == 0) {
		r = read_row(d, NESTED_CLASS, lo + n / 2, row);
		if (r < 0)
			break;
		if (get(row, 0, width) <= type) {
			lo += n / 2;
			n -= n / 2;
		} else {
			n /= 2;
		}
	}
	if (r == 0)
		r = read_row(d, NESTED_CLASS, lo, row);
	if (r < 0 || get(row, 0, width) != type)
		return r < 0 ? r : -ENOENT;
	*out = get(row, width, width);
	return 0;
}

/*
 * Appends the name of a type without those in which it is nested; the outermost has a namespace.
 * Its name as the metadata has it goes to @name.
 */
static int put_type(const struct reader *d, uint32_t type, bool is_outermost, struct buf *out,
		    char name[NAME_BYTES])
{
	uint8_t row[ROW_BYTES_MAX];
	size_t width = d->m->string_width;
	int r = read_row(d, TYPE_DEF, type, row);

	if (r == 0 && is_outermost && get(row, 4 + width, width)) {
		r = read_string(d, get(row, 4 + width, width), name);
		buf_put_str(out, r == 0 ? name : "");
	}
	if (r == 0)
		r = read_string(d, get(row, 4, width), name);
	if (r == 0)
		dotnet_put_type(out, name);
	return r;
}

int dotnet_metadata_name(const struct lang_process *p, const struct dotnet_metadata *m,
			 uint32_t rid, struct buf *out)
{
	const struct reader d = { p, m };
	uint8_t row[ROW_BYTES_MAX];
	uint32_t types[NESTING_MAX], n = 1;
	char name[NAME_BYTES], type[NAME_BYTES] = "";
	int r = read_row(&d, METHOD_DEF, rid, row);

	if (r == 0)
		r = read_string(&d, get(row, 8, m->string_width), name);
	if (r == 0)
		r = owner_of(&d, rid, &types[0]);
	while (r == 0 && n < NESTING_MAX && (r = outer_of(&d, types[n - 1], &types[n])) == 0)
		n++;
	r = r == -ENOENT && n ? 0 : r;
	/* the global functions of a module have a type that is none */
	for (uint32_t i = n; i-- && r == 0;)
		if (types[i] > 1)
			r = put_type(&d, types[i], i == n - 1, out, type);
	if (r == 0)
		dotnet_put_method(out, name, type);
	return r;
}
