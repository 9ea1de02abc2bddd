/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of /ingest: the first byte selects the format. A part of a form lies within the form. */
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "codec/common/limits.h"
#include "server/ingest_text.h"
#include "server/multipart.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void read_form(const uint8_t *data, size_t len)
{
	struct multipart_part part;

	if (multipart_find("multipart/form-data; boundary=XX", data, len, "profile", &part) < 0)
		return;
	if ((const uint8_t *)part.data < data || (const uint8_t *)part.data + part.len > data + len)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const struct codec_limits max = codec_limits_default();
	_cleanup_(buf_fini) struct buf out = { 0 };

	if (!len)
		return 0;
	if (data[0] % 5 == 4)
		read_form(data + 1, len - 1);
	else
		ingest_text((enum ingest_text)(data[0] % 5), data + 1, len - 1, &max, &out, NULL);
	return 0;
}
