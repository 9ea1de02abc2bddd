/* SPDX-License-Identifier: Apache-2.0 */
#include "lang/context/context.h"

#include <errno.h>
#include <stddef.h>

#include "arch/arch.h"
#include "elf/image.h"

enum { GO_OFFSET_MAX = 4096 }; /* limit for the offsets of the fields in g and m */

static const struct context_ops *const all[CONTEXT_MAX] = {
#define X(sym, name) [CONTEXT_##sym] = &context_##name##_ops,
#include "bpf/shared/contexts.def"
#undef X
};

/* Finds the start of the first executable segment. */
static int find_code(const struct elf_image *img, uint64_t *out_off, uint64_t *out_vaddr)
{
	const struct elf_segment *segments;
	size_t n = elf_image_segments(img, &segments);

	for (size_t i = 0; i < n; i++) {
		if (!segments[i].exec)
			continue;
		*out_off = segments[i].file_off;
		*out_vaddr = segments[i].vaddr;
		return 0;
	}
	return -ENOENT;
}

int context_detect(const struct elf_image *img, struct context_layout *out, uint64_t *out_off,
		   uint64_t *out_vaddr)
{
	int r = -ENOENT;

	*out = (struct context_layout){ 0 };
	if (!ARCH_READS_CONTEXTS || elf_image_machine(img) != ARCH_ELF_MACHINE ||
	    find_code(img, out_off, out_vaddr) < 0)
		return -ENOENT;
	for (size_t i = CONTEXT_NONE + 1; i < CONTEXT_MAX && r < 0; i++)
		r = all[i]->detect(img, out);
	if (r < 0)
		*out = (struct context_layout){ 0 };
	return r;
}

int context_layout_check(const struct context_layout *l)
{
	return l->kind < CONTEXT_MAX && l->tls < CONTEXT_TLS_MAX && l->is_musl <= 1 &&
			       l->is_list <= 1 && l->g_m < GO_OFFSET_MAX &&
			       l->m_curg < GO_OFFSET_MAX && l->g_labels < GO_OFFSET_MAX
		       ? 0
		       : -EBADMSG;
}
