/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up the map of code ranges as bpf/lib/lang/dotnet_range.h does, for one address. */
#include <errno.h>

#include "lang/dotnet/dotnet.h"
#include "lang/find.h"

enum { FRAGMENTS_MAX = 8 };

/* Follows a pointer of the map; its low bit is a mark. */
static int follow(const struct lang_process *p, uint64_t at, uint64_t *out)
{
	int r = lang_read_u64(p, at, out);

	*out &= ~UINT64_C(1);
	return r < 0 ? r : *out ? 0 : -ENOENT;
}

int dotnet_range_of(const struct lang_process *p, uint64_t ranges, uint64_t pc, uint64_t *out)
{
	unsigned int shift = DOTNET_LEAF_BITS + DOTNET_MAP_BITS * DOTNET_MAP_LEVELS;
	uint64_t at, fragment[DOTNET_FRAGMENT_WORDS];
	int r = lang_read_u64(p, ranges, &at);

	for (int i = 0; i < DOTNET_MAP_LEVELS && r == 0; i++) {
		shift -= DOTNET_MAP_BITS;
		r = follow(p, at + (pc >> shift & 0xff) * 8, &at);
	}
	for (int i = 0; i < FRAGMENTS_MAX && r == 0 && at; i++, at = fragment[0] & ~UINT64_C(1)) {
		r = dotnet_read_bytes(p, at, fragment, sizeof(fragment));
		if (r == 0 && pc >= fragment[1] && pc < fragment[2])
			return lang_read_u64(p, fragment[3] & ~UINT64_C(1), out);
	}
	return r < 0 ? r : -ENOENT;
}
