/* SPDX-License-Identifier: Apache-2.0 */
/* The custom labels of Polar Signals: version 1 of their ABI. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "elf/gnuhash.h"
#include "elf/image.h"
#include "lang/context/context.h"
#include "lang/context/tls_variable.h"

enum { ABI_VERSION = 1 };

static int detect(const struct elf_image *img, struct context_layout *out)
{
	struct elf_rawsym sym;
	struct elf_span word;
	uint32_t version = 0;

	if (elf_gnuhash_lookup(img, "custom_labels_abi_version", &sym) < 0 ||
	    elf_image_at_vaddr(img, sym.vaddr, sizeof(version), &word) < 0)
		return -ENOENT;
	memcpy(&version, word.data, sizeof(version));
	if (version != ABI_VERSION)
		return -ENOENT;
	out->kind = CONTEXT_CUSTOM;
	return tls_variable_find(img, "custom_labels_current_set", out);
}

const struct context_ops context_custom_ops = { .detect = detect };
