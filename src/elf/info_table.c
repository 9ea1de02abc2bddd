/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table ends with two words of 32 bits: the type of the object whose code follows, a small
 * number, and the distance to the objects that it refers to, or 0. Before them are 8 bytes or more
 * that describe the layout. Tables are aligned to 8 bytes. Code rarely looks like that, because it
 * would need a 32-bit operand that is both this small and aligned.
 */
#include "elf/info_table.h"

#include <stddef.h>
#include <string.h>

#include "elf/image.h"

enum {
	TEXT_MAX = 64 << 20, /* bytes of a segment in which StgRun() is searched */
	BACK_MAX = 64 << 10, /* bytes of a function */
	ALIGN = 8,
	TYPE_MAX = 63, /* the last type of GHC 9.0 is 61 (N_CLOSURE_TYPES 64) */
};

bool elf_has_stg_run(const struct elf_image *img)
{
	/* jmp *%rax; mov %rbx,%rax; add $16384,%rsp */
	static const uint8_t stg_return[] = { 0xff, 0xe0, 0x48, 0x89, 0xd8, 0x48,
					      0x81, 0xc4, 0x00, 0x40, 0x00, 0x00 };
	const struct elf_segment *segs;
	size_t n = elf_image_segments(img, &segs);
	struct elf_span code;

	for (size_t i = 0; i < n; i++)
		if (segs[i].exec && segs[i].filesz && segs[i].filesz <= TEXT_MAX &&
		    elf_image_at_vaddr(img, segs[i].vaddr, (size_t)segs[i].filesz, &code) == 0 &&
		    memmem(code.data, code.len, stg_return, sizeof(stg_return)))
			return true;
	return false;
}

/* True if the 8 bytes at @vaddr end a table. */
static bool is_table_end(const struct elf_image *img, uint64_t vaddr)
{
	struct elf_span span;
	uint32_t type;

	if (elf_image_at_vaddr(img, vaddr, ALIGN, &span) < 0)
		return false;
	memcpy(&type, span.data, sizeof(type));
	return type && type <= TYPE_MAX;
}

bool elf_info_table_start(const struct elf_image *img, uint64_t vaddr, uint64_t *out_start)
{
	uint64_t at = vaddr & ~(uint64_t)(ALIGN - 1);

	for (uint64_t n = 0; n < BACK_MAX && at >= ALIGN + n; n += ALIGN) {
		if (!is_table_end(img, at - n - ALIGN))
			continue;
		*out_start = at - n;
		return true;
	}
	return false;
}
