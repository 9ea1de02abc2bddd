/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decompression of .gnu_debugdata, with limits on both the decompressor's
 * memory and its output: a kilobyte of xz can be a gigabyte of zeros.
 */
#include "elf/minidebug.h"

#include <errno.h>
#include <lzma.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "elf/image.h"

enum { CHUNK_LEN = 32 * 1024 };

static int error_of(lzma_ret ret, struct err *err)
{
	switch (ret) {
	case LZMA_MEM_ERROR:
		return -ENOMEM;
	case LZMA_MEMLIMIT_ERROR:
		return err_set(err, -E2BIG,
			       ".gnu_debugdata requires more than %d MiB to decompress",
			       ELF_MINIDEBUG_MEMORY_MAX >> 20);
	default:
		return err_set(err, -EBADMSG, ".gnu_debugdata is not a complete xz file");
	}
}

/* Decompresses all of @in into @out. */
static int inflate_all(lzma_stream *z, const struct elf_span *in, struct buf *out, struct err *err)
{
	uint8_t chunk[CHUNK_LEN];
	lzma_ret ret = LZMA_OK;

	z->next_in = in->data;
	z->avail_in = in->len;
	while (ret == LZMA_OK) {
		z->next_out = chunk;
		z->avail_out = sizeof(chunk);
		ret = lzma_code(z, LZMA_FINISH);
		buf_put(out, chunk, sizeof(chunk) - z->avail_out);
		if (buf_error(out))
			return buf_error(out);
		if (out->len > ELF_MINIDEBUG_MAX)
			return err_set(err, -E2BIG, ".gnu_debugdata expands to more than %d MiB",
				       ELF_MINIDEBUG_MAX >> 20);
	}
	return ret == LZMA_STREAM_END ? 0 : error_of(ret, err);
}

int elf_minidebug_load(const struct elf_image *img, void **out, size_t *out_len, struct err *err)
{
	_cleanup_(lzma_end) lzma_stream z = LZMA_STREAM_INIT;
	_cleanup_(buf_fini) struct buf bytes = { 0 };
	struct elf_span s;
	lzma_ret ret;
	int r = elf_image_section(img, ".gnu_debugdata", &s);

	if (r < 0)
		return r == -ENODATA ? -ENOENT : r;
	ret = lzma_stream_decoder(&z, ELF_MINIDEBUG_MEMORY_MAX, 0);
	if (ret != LZMA_OK)
		return error_of(ret, err);
	r = inflate_all(&z, &s, &bytes, err);
	if (r < 0)
		return r;
	if (!bytes.len)
		return err_set(err, -EBADMSG, ".gnu_debugdata is empty");
	*out_len = bytes.len;
	*out = steal_ptr(&bytes.data);
	return 0;
}
