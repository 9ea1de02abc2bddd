/* SPDX-License-Identifier: Apache-2.0 */
/* Checks requests of a compromised agent, and functions that a compromised reader has sent. */
#include "reader/jit_message.h"

#include <stdlib.h>
#include <string.h>

#include "symbol/jit_places.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { N_ADDRS = 64 };

static void check_request(const uint8_t *data, size_t len)
{
	_Alignas(8) uint8_t body[4096];
	const uint64_t *addrs;
	volatile uint64_t sum = 0;

	len = len < sizeof(body) ? len : sizeof(body);
	memcpy(body, data, len);
	addrs = jit_request_check(body, len);
	for (uint32_t i = 0; addrs && i < ((const struct jit_request *)body)->n; i++)
		sum += addrs[i];
	(void)sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const uint8_t *p = data;
	size_t left = len;
	struct jit_found f;

	check_request(data, len);
	while (jit_found_next(&p, &left, N_ADDRS, &f) > 0) {
		if (f.index >= N_ADDRS || !f.name_len || f.name_len > JIT_NAME_MAX ||
		    f.file_len > JIT_NAME_MAX || memchr(f.name, 0, f.name_len) ||
		    memchr(f.file, 0, f.file_len))
			abort();
	}
	return 0;
}
