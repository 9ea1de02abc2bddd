/* SPDX-License-Identifier: Apache-2.0 */
/* Checks functions of an allocator that a compromised reader has sent. */
#include "reader/allocator_message.h"

#include <stdlib.h>

#include "bpf/shared/allocs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct allocator_function f[ALLOCATOR_FUNCTIONS_MAX];
	int n = allocator_message_read(data, len, f);

	if (n > ALLOCATOR_FUNCTIONS_MAX)
		abort();
	for (int i = 0; i < n; i++)
		if (f[i].kind == ALLOC_NONE || f[i].kind >= ALLOC_KIND_MAX ||
		    f[i].place < f[i].lo || f[i].place >= f[i].hi)
			abort();
	return 0;
}
