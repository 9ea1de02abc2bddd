/* SPDX-License-Identifier: Apache-2.0 */
/* The first bytes of a client that may want TLS: looked at before any library does. */
#include <stdint.h>

#include "net/h2_tls.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	h2_tls_is_wanted(data, len);
	return 0;
}
