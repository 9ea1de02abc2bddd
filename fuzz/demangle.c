/* SPDX-License-Identifier: Apache-2.0 */
/* Mangled names from untrusted symbol tables: the result is bounded, and so is the time. */
#include "symbol/demangle.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *raw = malloc(len + 1);

	if (!raw)
		return 0;
	memcpy(raw, data, len);
	raw[len] = '\0';
	for (int i = 0; i < 6; i++) {
		char *name = demangle_name(raw, i & 1 ? DEMANGLE_SHORT : DEMANGLE_FULL, i >> 1);

		if (name && strlen(name) > DEMANGLE_OUT_MAX + 64)
			abort();
		free(name);
	}
	free(raw);
	return 0;
}
