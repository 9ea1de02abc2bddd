/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A link is a name, its NUL, and what identifies the file: for .gnu_debuglink
 * zeros up to a multiple of four and a CRC-32, for .gnu_debugaltlink a build
 * id. The name is a stranger's and will be looked for in privileged places, so
 * it must not lead out of them.
 */
#include "elf/debuglink.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "elf/image.h"

/* The name at the section's beginning: its length, or -EBADMSG. */
static int64_t name_len(const struct elf_span *s, size_t cap)
{
	size_t len = strnlen((const char *)s->data, s->len);

	return !len || len == s->len || len >= cap ? -EBADMSG : (int64_t)len;
}

int elf_debuglink(const struct elf_image *img, struct elf_debuglink *out)
{
	struct elf_debuglink link = { 0 };
	struct elf_span s;
	int64_t len;
	size_t crc_at;
	int r = elf_image_section(img, ".gnu_debuglink", &s);

	if (r < 0)
		return r == -ENODATA ? -ENOENT : r;
	len = name_len(&s, sizeof(link.name));
	if (len < 0)
		return (int)len;
	crc_at = ((size_t)len + 4) & ~(size_t)3;
	if (s.len < crc_at + sizeof(link.crc))
		return -EBADMSG;
	memcpy(link.name, s.data, (size_t)len);
	memcpy(&link.crc, s.data + crc_at, sizeof(link.crc));
	if (strchr(link.name, '/') || !strcmp(link.name, ".") || !strcmp(link.name, ".."))
		return -EBADMSG;
	*out = link;
	return 0;
}

int elf_debugaltlink(const struct elf_image *img, struct elf_debugaltlink *out)
{
	struct elf_span s;
	size_t id_at, id_len;
	int64_t len;
	int r = elf_image_section(img, ".gnu_debugaltlink", &s);

	if (r < 0)
		return r == -ENODATA ? -ENOENT : r;
	len = name_len(&s, sizeof(out->path));
	if (len < 0)
		return (int)len;
	id_at = (size_t)len + 1;
	id_len = s.len - id_at;
	if (!id_len || id_len > ELF_BUILD_ID_MAX)
		return -EBADMSG;
	*out = (struct elf_debugaltlink){ .id.len = (uint8_t)id_len };
	memcpy(out->path, s.data, (size_t)len);
	memcpy(out->id.bytes, s.data + id_at, id_len);
	return 0;
}

uint32_t elf_debuglink_crc(const struct elf_image *img)
{
	struct elf_span s;

	if (elf_image_at_offset(img, 0, elf_image_len(img), &s) < 0)
		return 0;
	return (uint32_t)crc32_z(0, s.data, s.len);
}
