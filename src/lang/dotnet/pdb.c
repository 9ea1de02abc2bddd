/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of methods from a portable PDB (PortablePdb-Metadata.md of the runtime's specifications).
 * It has the format of metadata, with tables of its own: of documents and, for each method of the
 * assembly, of its sequence points. These are the first two, so the others need not be known.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/vec.h"
#include "lang/dotnet/dotnet.h"

enum {
	DOCUMENT = 0x30,
	METHOD = 0x31,
	TABLES = 64,
	ROWS_MAX = 1 << 24,
	LINES_MAX = LANG_LINES_MAX / sizeof(struct dotnet_line),
	POINTS_MAX = 1 << 20,
	PATH_BYTES_MAX = 4096,
	WIDE_GUIDS = 2,
	WIDE_BLOBS = 4,
};

/* Reads the head of the tables. */
static int read_tables(const struct dotnet_heap *tables, struct dotnet_pdb *out)
{
	uint32_t rows[TABLES] = { 0 }, heaps, low;
	struct dotnet_stream s;
	uint64_t valid;

	dotnet_stream_init(&s, &out->p, tables->at, tables->bytes);
	dotnet_stream_skip(&s, 6);
	heaps = dotnet_stream_number(&s, 1);
	dotnet_stream_skip(&s, 1);
	low = dotnet_stream_number(&s, 4);
	valid = (uint64_t)dotnet_stream_number(&s, 4) << 32 | low;
	dotnet_stream_skip(&s, 8);
	for (int i = 0; i < TABLES; i++)
		rows[i] = valid >> i & 1 ? dotnet_stream_number(&s, 4) : 0;
	/* with tables of an assembly before them, the rows would be elsewhere */
	if (s.is_bad || valid & ((UINT64_C(1) << DOCUMENT) - 1) || rows[DOCUMENT] > ROWS_MAX ||
	    rows[METHOD] > ROWS_MAX)
		return -EBADMSG;
	out->blob_width = heaps & WIDE_BLOBS ? 4 : 2;
	out->guid_width = heaps & WIDE_GUIDS ? 4 : 2;
	out->document_width = rows[DOCUMENT] < 1u << 16 ? 2 : 4;
	out->n_documents = rows[DOCUMENT];
	out->n_methods = rows[METHOD];
	out->documents = dotnet_stream_at(&s);
	out->methods = out->documents +
		       (uint64_t)out->n_documents * 2 * (out->blob_width + out->guid_width);
	return 0;
}

int dotnet_pdb_open(const struct lang_process *p, uint32_t len, struct dotnet_pdb *out)
{
	struct dotnet_heap heaps[] = { { .name = "#Pdb" }, { .name = "#~" }, { .name = "#Blob" } };
	const struct dotnet_root root = { p, 0, len };
	int r = dotnet_root_read(&root, heaps, 3);

	*out = (struct dotnet_pdb){ .p = *p, .blobs = heaps[2].at, .blob_bytes = heaps[2].bytes };
	if (r < 0)
		return r;
	if (heaps[0].bytes < DOTNET_PDB_ID_BYTES || !heaps[1].bytes)
		return -EBADMSG;
	r = dotnet_read_bytes(p, heaps[0].at, out->id, DOTNET_PDB_ID_BYTES);
	return r < 0 ? r : read_tables(&heaps[1], out);
}

/* Starts reading the content of a blob, whose length precedes it. */
static void open_blob(const struct dotnet_pdb *pdb, uint32_t at, struct dotnet_stream *out)
{
	uint32_t len;

	if (at > pdb->blob_bytes)
		at = pdb->blob_bytes;
	dotnet_stream_init(out, &pdb->p, pdb->blobs + at, pdb->blob_bytes - at);
	len = dotnet_stream_compressed(out);
	dotnet_stream_limit(out, len);
}

/* True if the stream has no more bytes. */
static bool is_done(const struct dotnet_stream *s)
{
	return s->is_bad || dotnet_stream_at(s) >= s->end;
}

/* ---- documents -------------------------------------------------------------------- */

static void put_part(const struct dotnet_pdb *pdb, uint32_t at, struct buf *out)
{
	struct dotnet_stream s;

	if (!at)
		return;
	open_blob(pdb, at, &s);
	while (!is_done(&s) && out->len < PATH_BYTES_MAX) {
		uint8_t c = dotnet_stream_byte(&s);

		buf_put_byte(out, c < ' ' || c == 0x7f ? '?' : c);
	}
}

/* The name of a document: a separator, then references to its parts. */
static char *read_document(const struct dotnet_pdb *pdb, uint32_t rid)
{
	uint64_t row = 2ULL * (pdb->blob_width + pdb->guid_width);
	struct dotnet_stream s;
	struct buf path = { 0 };
	uint8_t separator;

	if (!rid || rid > pdb->n_documents)
		return NULL;
	dotnet_stream_init(&s, &pdb->p, pdb->documents + (rid - 1) * row, row);
	open_blob(pdb, dotnet_stream_number(&s, pdb->blob_width), &s);
	separator = dotnet_stream_byte(&s);
	for (bool is_first = true; !is_done(&s) && path.len < PATH_BYTES_MAX; is_first = false) {
		if (!is_first && separator >= ' ' && separator < 0x7f)
			buf_put_byte(&path, separator);
		put_part(pdb, dotnet_stream_compressed(&s), &path);
	}
	buf_put_byte(&path, '\0');
	if (buf_error(&path) || s.is_bad) {
		buf_fini(&path);
		return NULL;
	}
	return (char *)path.data;
}

/* ---- sequence points -------------------------------------------------------------- */

struct points {
	struct dotnet_stream s;
	uint32_t document, il, line, column;
	bool has_line; /* the first one is not a difference */
};

struct lines {
	VEC(struct dotnet_line);
};

/*
 * Reads a point. Returns false if it has no line: it changes the document, or hides code that a
 * compiler made.
 */
static bool next_point(struct points *p, bool is_first)
{
	uint32_t il = dotnet_stream_compressed(&p->s), n_lines;
	int32_t n_columns;

	if (!is_first && !il) {
		p->document = dotnet_stream_compressed(&p->s);
		return false;
	}
	p->il += il;
	n_lines = dotnet_stream_compressed(&p->s);
	n_columns =
		n_lines ? dotnet_stream_signed(&p->s) : (int32_t)dotnet_stream_compressed(&p->s);
	if (!n_lines && !n_columns)
		return false;
	if (p->has_line) {
		p->line += (uint32_t)dotnet_stream_signed(&p->s);
		p->column += (uint32_t)dotnet_stream_signed(&p->s);
	} else {
		p->line = dotnet_stream_compressed(&p->s);
		p->column = dotnet_stream_compressed(&p->s);
	}
	p->has_line = true;
	return !p->s.is_bad;
}

static int read_points(struct points *p, struct lines *out, uint32_t *out_document)
{
	bool is_first = true;
	int r = 0;

	for (uint32_t i = 0; i < POINTS_MAX && !is_done(&p->s) && r == 0; i++, is_first = false) {
		if (!next_point(p, is_first))
			continue;
		if (!out->len)
			*out_document = p->document;
		if (out->len >= LINES_MAX)
			return -E2BIG;
		/* code of another document has no line */
		if (p->document == *out_document)
			r = vec_push(out, (struct dotnet_line){ p->il, p->line, p->column });
		else
			r = vec_push(out, (struct dotnet_line){ .il = p->il });
	}
	return r < 0 ? r : p->s.is_bad ? -EBADMSG : out->len ? 0 : -ENOENT;
}

int dotnet_pdb_lines(const struct dotnet_pdb *pdb, uint32_t rid, struct lang_function *out)
{
	uint64_t row = pdb->document_width + pdb->blob_width;
	struct points p = { 0 };
	struct lines lines = { 0 };
	uint32_t blob, document = 0;
	char *file;
	int r;

	if (!rid || rid > pdb->n_methods)
		return -ENOENT;
	dotnet_stream_init(&p.s, &pdb->p, pdb->methods + (rid - 1) * row, row);
	p.document = dotnet_stream_number(&p.s, pdb->document_width);
	blob = dotnet_stream_number(&p.s, pdb->blob_width);
	if (p.s.is_bad || !blob)
		return p.s.is_bad ? -EBADMSG : -ENOENT;
	open_blob(pdb, blob, &p.s);
	dotnet_stream_compressed(&p.s); /* the signature of the locals */
	if (!p.document)
		p.document = dotnet_stream_compressed(&p.s);
	r = read_points(&p, &lines, &document);
	file = r == 0 ? read_document(pdb, document) : NULL;
	if (!file) {
		vec_fini(&lines);
		return r < 0 ? r : -EBADMSG;
	}
	out->file = file;
	out->first_line = lines.data[0].line;
	out->lines = (uint8_t *)lines.data;
	out->n_lines = (uint32_t)(lines.len * sizeof(*lines.data));
	return 0;
}

const struct dotnet_line *dotnet_line_at(const struct lang_function *f, uint32_t il)
{
	/* the lines come from malloc() or a vector */
	const struct dotnet_line *lines = (const struct dotnet_line *)(const void *)f->lines;
	size_t n = f->n_lines / sizeof(*lines), lo = 0;

	if (!n || lines[0].il > il)
		return NULL;
	while (n > 1) {
		bool is_upper = lines[lo + n / 2].il <= il;

		lo += is_upper ? n / 2 : 0;
		n = is_upper ? n - n / 2 : n / 2;
	}
	return &lines[lo];
}
