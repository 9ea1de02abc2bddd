/* SPDX-License-Identifier: Apache-2.0 */
/* Untrusted OTLP requests: accepted input is written and must be accepted again. */
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "codec/common/limits.h"
#include "codec/otlp/otlp_read.h"
#include "codec/otlp/otlp_write.h"
#include "profile/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	_cleanup_(profile_freep) struct profile *p = NULL, *again = NULL;
	_cleanup_(buf_fini) struct buf b = { 0 };
	struct codec_limits limits = codec_limits_default();

	limits.bytes = 1 << 20;
	if (otlp_read(&p, data, len, &limits, NULL) < 0)
		return 0;
	if (otlp_write(p, NULL, &b, NULL) < 0 || otlp_read(&again, b.data, b.len, NULL, NULL) < 0)
		abort();
	return 0;
}
