/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds the first bytes of a client that may use TLS, which Cameo parses before any library does.
 */
#include <stdint.h>

#include "net/h2_tls.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	h2_tls_offers_http2_only(data, len);
	return 0;
}
