/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A link is a name, its NUL, zeros up to a multiple of four and the CRC-32 of the file. The name
 * may be hostile and is looked up in privileged directories, so it must not lead out of them.
 */
#include "elf/debuglink.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "elf/image.h"

int elf_debuglink(const struct elf_image *img, struct elf_debuglink *out)
{
	struct elf_debuglink link = { 0 };
	struct elf_span s;
	size_t len, crc_at;
	int r = elf_image_section(img, ".gnu_debuglink", &s);

	if (r < 0)
		return r == -ENODATA ? -ENOENT : r;
	len = strnlen((const char *)s.data, s.len);
	crc_at = (len + 4) & ~(size_t)3;
	if (!len || len >= sizeof(link.name) || s.len < crc_at + sizeof(link.crc))
		return -EBADMSG;
	memcpy(link.name, s.data, len);
	memcpy(&link.crc, s.data + crc_at, sizeof(link.crc));
	if (strchr(link.name, '/') || !strcmp(link.name, ".") || !strcmp(link.name, ".."))
		return -EBADMSG;
	*out = link;
	return 0;
}

uint32_t elf_debuglink_crc(const struct elf_image *img)
{
	struct elf_span s;

	if (elf_image_at_offset(img, 0, elf_image_len(img), &s) < 0)
		return 0;
	return (uint32_t)crc32_z(0, s.data, s.len);
}
