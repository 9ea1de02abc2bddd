/* SPDX-License-Identifier: Apache-2.0 */
#include "lang/golang.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "elf/gopclntab.h"
#include "elf/image.h"

/*
 * Offsets in .go.buildinfo (debug/buildinfo/buildinfo.go of Go). If the flag is set, which it is
 * since Go 1.18, the version's length and text follow at INLINE.
 */
enum { FLAGS = 15, INLINE = 32, HAS_INLINE = 2 };

/* Copies the version, "1.27.1", without the experiments that may follow it. */
static void read_version(const struct elf_span *info, char version[GOLANG_VERSION_BYTES])
{
	const uint8_t *data = info->data;
	size_t len, n = 0;
	const char *text;

	version[0] = '\0';
	if (info->len < INLINE + 3 || !(data[FLAGS] & HAS_INLINE) ||
	    memcmp(data + INLINE + 1, "go", 2) != 0)
		return;
	len = data[INLINE] < info->len - INLINE - 1 ? data[INLINE] : info->len - INLINE - 1;
	text = (const char *)data + INLINE + 3;
	while (n + 2 < len && n < GOLANG_VERSION_BYTES - 1 && strchr("0123456789.", text[n]) &&
	       text[n])
		n++;
	memcpy(version, text, n);
	version[n] = '\0';
}

int golang_detect(const struct elf_image *img, char version[GOLANG_VERSION_BYTES])
{
	_cleanup_(gopclntab_freep) struct gopclntab *table = NULL;
	struct elf_span info;

	/*
	 * The section is required, because programs that read it in others, as this one does,
	 * contain its magic bytes too.
	 */
	if (elf_image_section(img, ".go.buildinfo", &info) < 0)
		return -ENOENT;
	read_version(&info, version);
	return gopclntab_open(&table, img, NULL) == 0 ? 0 : -ENOTSUP;
}
