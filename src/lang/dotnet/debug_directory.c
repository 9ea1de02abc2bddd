/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the portable PDB of an assembly by the debug directory of its image (PE-COFF.md of the
 * runtime's specifications): either all of it is there, compressed, or its id and path.
 */
#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lang/dotnet/dotnet.h"
#include "lang/memo.h"

enum {
	ENTRY_BYTES = 28,
	ENTRIES_MAX = 32,
	TYPE_CODEVIEW = 2,
	TYPE_EMBEDDED = 17,
	EMBEDDED_HEAD = 8,
	EMBEDDED_MAGIC = 0x4244504d, /* "MPDB" */
	CODEVIEW_MAGIC = 0x53445352, /* "RSDS" */
	CODEVIEW_HEAD = 20,
	CODEVIEW_PATH = 24,
	PDB_FILE_BYTES_MAX = 1 << 30,
	PACKED_BYTES_MAX = 16 << 20,
	PDB_BYTES_MAX = LANG_MEMO_BYTES / 2,
	MEMO_PDB = 0x646e7064, /* lang_memo_key.what */
};

struct debug_directory {
	uint8_t id[DOTNET_PDB_ID_BYTES];
	bool has_id;
	char name[128];    /* of the file, without the directory where it was made */
	uint64_t embedded; /* address; 0: there is none */
	uint32_t embedded_bytes;
};

/* An entry of the directory, in words. */
enum { ENTRY_STAMP = 1, ENTRY_TYPE = 3, ENTRY_SIZE = 4, ENTRY_RVA = 5 };

/* Reads the last component of a path of at most @len bytes, with either kind of separator. */
static void take_name(const struct dotnet_image *img, uint64_t at, uint32_t len, char out[128])
{
	struct dotnet_stream s;
	size_t n = 0;
	uint8_t c;

	dotnet_stream_init(&s, img->p, at, len);
	while ((c = dotnet_stream_byte(&s)) && n < 127) {
		out[n++] = (char)c;
		if (c == '/' || c == '\\')
			n = 0;
	}
	out[s.is_bad || c ? 0 : n] = '\0';
}

/* Takes the id: a GUID, and the time stamp of the entry. */
static void take_codeview(const struct dotnet_image *img, uint64_t at, const uint32_t *entry,
			  struct debug_directory *out)
{
	uint8_t head[CODEVIEW_HEAD];
	uint32_t magic;

	if (entry[ENTRY_SIZE] < sizeof(head) ||
	    dotnet_read_bytes(img->p, at, head, sizeof(head)) < 0)
		return;
	memcpy(&magic, head, sizeof(magic));
	if (magic != CODEVIEW_MAGIC)
		return;
	memcpy(out->id, head + 4, 16);
	memcpy(out->id + 16, &entry[ENTRY_STAMP], 4);
	out->has_id = true;
	take_name(img, at + CODEVIEW_PATH, entry[ENTRY_SIZE] - sizeof(head), out->name);
}

static int read_directory(const struct dotnet_image *img, struct debug_directory *out)
{
	uint32_t n = img->debug_bytes / ENTRY_BYTES, entry[ENTRY_BYTES / 4];
	uint64_t at, data;
	int r = img->debug && n ? 0 : -ENOENT;

	*out = (struct debug_directory){ 0 };
	if (r == 0 && n > ENTRIES_MAX)
		r = -EBADMSG;
	if (r == 0)
		r = dotnet_image_address(img, img->debug, n * ENTRY_BYTES, &at);
	for (uint32_t i = 0; i < n && r == 0; i++) {
		r = dotnet_read_bytes(img->p, at + i * ENTRY_BYTES, entry, sizeof(entry));
		if (r < 0 ||
		    dotnet_image_address(img, entry[ENTRY_RVA], entry[ENTRY_SIZE], &data) < 0)
			continue;
		if (entry[ENTRY_TYPE] == TYPE_CODEVIEW)
			take_codeview(img, data, entry, out);
		if (entry[ENTRY_TYPE] == TYPE_EMBEDDED) {
			out->embedded = data;
			out->embedded_bytes = entry[ENTRY_SIZE];
		}
	}
	return r;
}

/* ---- embedded --------------------------------------------------------------------- */

DEFINE_FREEP(struct libdeflate_decompressor, libdeflate_free_decompressor)

/* Decompresses the PDB. The caller frees *@out. */
static int unpack(const struct dotnet_image *img, const struct debug_directory *d, void **out,
		  uint32_t *out_len)
{
	_cleanup_(libdeflate_free_decompressorp) struct libdeflate_decompressor *decompressor =
		NULL;
	_cleanup_(freep) uint8_t *packed = NULL, *data = NULL;
	uint32_t head[2];
	int r;

	if (d->embedded_bytes <= EMBEDDED_HEAD || d->embedded_bytes > PACKED_BYTES_MAX)
		return -EBADMSG;
	r = dotnet_read_bytes(img->p, d->embedded, head, sizeof(head));
	if (r < 0 || head[0] != EMBEDDED_MAGIC || !head[1] || head[1] > PDB_BYTES_MAX)
		return r < 0 ? r : -EBADMSG;
	packed = malloc(d->embedded_bytes);
	data = malloc(head[1]);
	decompressor = libdeflate_alloc_decompressor();
	if (!packed || !data || !decompressor)
		return -ENOMEM;
	r = dotnet_read_bytes(img->p, d->embedded, packed, d->embedded_bytes);
	if (r < 0)
		return r;
	if (libdeflate_deflate_decompress(decompressor, packed + EMBEDDED_HEAD,
					  d->embedded_bytes - EMBEDDED_HEAD, data, head[1],
					  NULL) != LIBDEFLATE_SUCCESS)
		return -EBADMSG;
	*out = steal_ptr(&data);
	*out_len = head[1];
	return 0;
}

struct bytes {
	const uint8_t *data;
	size_t len;
};

static int read_bytes(void *ctx, uint64_t addr, void *dst, size_t len)
{
	const struct bytes *b = ctx;

	if (addr > b->len || len > b->len - addr)
		return -EFAULT;
	memcpy(dst, b->data + addr, len);
	return 0;
}

static int lines_of(const struct bytes *b, const struct debug_directory *d, uint32_t rid,
		    struct lang_function *out)
{
	const struct lang_process p = { .read = read_bytes, .ctx = (void *)(uintptr_t)b };
	struct dotnet_pdb pdb;
	int r = dotnet_pdb_open(&p, (uint32_t)b->len, &pdb);

	if (r == 0 && d->has_id && memcmp(d->id, pdb.id, sizeof(pdb.id)))
		r = -ENOENT;
	return r < 0 ? r : dotnet_pdb_lines(&pdb, rid, out);
}

/* The PDB is kept in the memo; if that has no room, it is decompressed for each method. */
static int embedded_lines(const struct dotnet_image *img, const struct debug_directory *d,
			  uint32_t rid, struct lang_function *out)
{
	const struct lang_memo_key key = {
		.start_ns = img->p->start_ns,
		.addr = d->embedded,
		.size = d->embedded_bytes,
		.pid = img->p->pid,
		.what = MEMO_PDB,
	};
	struct bytes b = { 0 };
	void *data = NULL;
	uint32_t len;
	int r;

	b.data = lang_memo_get(img->p->memo, &key, &b.len);
	if (b.data)
		return lines_of(&b, d, rid, out);
	r = unpack(img, d, &data, &len);
	if (r < 0)
		return r;
	b = (struct bytes){ data, len };
	r = lines_of(&b, d, rid, out);
	lang_memo_put(img->p->memo, &key, data, len);
	return r;
}

/* ---- in a file --------------------------------------------------------------------  */

static int read_file(void *ctx, uint64_t addr, void *dst, size_t len)
{
	const int *fd = ctx;
	ssize_t n;

	do
		n = pread(*fd, dst, len, (off_t)addr);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : (size_t)n == len ? 0 : -EFAULT;
}

static int lines_in_file(const struct dotnet_image *img, const struct debug_directory *d,
			 uint32_t rid, struct lang_function *out)
{
	struct lang_side_file file = { .addr = img->base };
	struct lang_process p = { .read = read_file };
	struct dotnet_pdb pdb;
	struct stat st;
	int fd, r;

	if (!img->p->side_file || !d->has_id || !d->name[0])
		return -ENOENT;
	memcpy(file.name, d->name, sizeof(file.name));
	fd = img->p->side_file(img->p->ctx, &file);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || st.st_size > PDB_FILE_BYTES_MAX)
		return -EBADMSG;
	p.ctx = &fd;
	r = dotnet_pdb_open(&p, (uint32_t)st.st_size, &pdb);
	if (r == 0 && memcmp(d->id, pdb.id, sizeof(pdb.id)))
		r = -ENOENT;
	return r < 0 ? r : dotnet_pdb_lines(&pdb, rid, out);
}

int dotnet_lines(const struct dotnet_image *img, uint32_t rid, struct lang_function *out)
{
	struct debug_directory d;
	int r = read_directory(img, &d);

	if (r < 0)
		return r;
	return d.embedded ? embedded_lines(img, &d, rid, out) : lines_in_file(img, &d, rid, out);
}
