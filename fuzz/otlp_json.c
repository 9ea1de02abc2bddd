/* SPDX-License-Identifier: Apache-2.0 */
/* Untrusted OTLP JSON, which the protobuf reader then reads, one profile at a time. */
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "codec/otlp/otlp_json.h"
#include "codec/otlp/otlp_read.h"
#include "profile/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int drop(void *ctx, const struct otlp_profile *part)
{
	profile_free(part->profile);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	_cleanup_(buf_fini) struct buf b = { 0 };

	if (otlp_json_read(data, len, &b, NULL) == 0)
		otlp_read_profiles(b.data, b.len, NULL, drop, NULL, NULL);
	return 0;
}
