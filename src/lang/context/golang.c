/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Go's profiler labels. The offsets of the fields are those of runtime2.go of each release for
 * amd64; releases newer than the table have those of its last line.
 */
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/gopclntab.h"
#include "elf/image.h"
#include "elf/rawsym.h"
#include "lang/context/context.h"
#include "lang/context/tls_variable.h"
#include "lang/golang.h"

enum { G_M = 48, TLS_OFFSET = -8 };

static const struct release {
	long minor; /* from 1.minor on */
	uint32_t m_curg, g_labels;
	bool is_list;
} releases[] = {
	{ 17, 192, 360, false }, { 21, 192, 344, false }, { 23, 192, 352, false },
	{ 24, 192, 352, true },  { 25, 184, 352, true },
};

static const struct release *release_of(const char *version)
{
	const struct release *found = NULL;
	long minor = !strncmp(version, "1.", 2) ? strtol(version + 2, NULL, 10) : 0;

	for (size_t i = 0; i < sizeof(releases) / sizeof(releases[0]); i++)
		if (minor >= releases[i].minor)
			found = &releases[i];
	return found;
}

/* True if the program has the function that sets labels; the linker omits it if it is unused. */
static bool sets_labels(const struct elf_image *img)
{
	_cleanup_(gopclntab_freep) struct gopclntab *table = NULL;
	struct gopclntab_func f;

	if (gopclntab_open(&table, img, NULL) < 0)
		return false;
	for (size_t i = 0; i < gopclntab_count(table); i++)
		if (gopclntab_func_at(table, i, &f) == 0 &&
		    !strcmp(f.name, "runtime/pprof.runtime_setProfLabel"))
			return true;
	return false;
}

/*
 * The g of a thread is in the first word below the thread pointer, except where the system's linker
 * has put C's variables there.
 */
static int64_t find_g(const struct elf_image *img)
{
	struct elf_rawsym sym;
	int64_t at;

	if (elf_symbol_lookup(img, ELF_SYMTAB, "runtime.tlsg", &sym) < 0 || sym.type != STT_TLS ||
	    tls_offset_in_program(img, sym.vaddr, &at) < 0)
		return TLS_OFFSET;
	return at;
}

static int detect(const struct elf_image *img, struct context_layout *out)
{
	char version[GOLANG_VERSION_BYTES];
	const struct release *r;

	if (golang_detect(img, version) < 0)
		return -ENOENT;
	r = release_of(version);
	if (!r || !sets_labels(img))
		return -ENOENT;
	*out = (struct context_layout){
		.kind = CONTEXT_GOLANG,
		.tls = CONTEXT_TLS_OFFSET,
		.at = find_g(img),
		.g_m = G_M,
		.m_curg = r->m_curg,
		.g_labels = r->g_labels,
		.is_list = r->is_list,
	};
	return 0;
}

const struct context_ops context_golang_ops = { .detect = detect };
