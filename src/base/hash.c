/* SPDX-License-Identifier: Apache-2.0 */
/* The seed of this process. It is set by a constructor, so that hashing a word costs no call. */
#include "base/hash.h"

#include <string.h>
#include <sys/auxv.h>

uint64_t hash_process_seed;

/* AT_RANDOM: 16 random bytes, of which the C library uses the first 8 for its stack guard. */
__attribute__((constructor)) static void set_seed(void)
{
	const char *bytes = (const void *)(uintptr_t)getauxval(AT_RANDOM);

	if (bytes)
		memcpy(&hash_process_seed, bytes + 8, sizeof(hash_process_seed));
}
