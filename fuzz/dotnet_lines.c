/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A portable PDB, and the map from native code to IL that the runtime has for a method, as
 * arbitrary bytes. Their readers end within the memory that there is, whatever it contains.
 *
 * An input is the form of the map, or 3 for a PDB, then its bytes.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lang/dotnet/dotnet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { FORM_PDB = 3, METHODS = 8 };

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

static void read_pdb(const struct lang_process *p, uint32_t len)
{
	struct dotnet_pdb pdb;

	if (dotnet_pdb_open(p, len, &pdb) < 0)
		return;
	for (uint32_t rid = 0; rid < METHODS; rid++) {
		struct lang_function f = { 0 };
		int r = dotnet_pdb_lines(&pdb, rid, &f);

		assert(r < 0 || (f.file && f.n_lines && f.n_lines <= LANG_LINES_MAX));
		assert(r == 0 || (!f.file && !f.lines));
		for (uint32_t il = 0; il < 64; il++)
			(void)dotnet_line(&f, il);
		free(f.file);
		free(f.lines);
	}
}

static void read_map(const struct lang_process *p, uint8_t form)
{
	static const uint32_t words[] = { 0, DOTNET_PATCHPOINT_WORDS_8,
					  DOTNET_PATCHPOINT_WORDS_10 };
	const struct dotnet_debug_form f = { form >> 2 & 1, words[form & 3] };
	struct dotnet_il il;
	int r = dotnet_debug_info_find(p, 0, &f, 1000, &il);

	assert(r == 0 || !il.is_known);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct bytes b = { data + 1, len ? len - 1 : 0 };
	const struct lang_process p = { .read = read_bytes, .ctx = &b };

	if (!len)
		return 0;
	if ((data[0] & 3) == FORM_PDB)
		read_pdb(&p, (uint32_t)b.len);
	else
		read_map(&p, data[0]);
	return 0;
}
