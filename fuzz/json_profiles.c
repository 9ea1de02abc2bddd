/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Untrusted JSON profiles, for each of the readers except speedscope's, which has a target of its
 * own.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "codec/chrome/chrome.h"
#include "codec/common/limits.h"
#include "codec/firefox/firefox.h"
#include "codec/pprof/pprof.h"
#include "profile/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

typedef int (*read_fn)(struct profile **out, const void *data, size_t len,
		       const struct codec_limits *limits, struct err *err);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const read_fn readers[] = { chrome_read, cpuprofile_read, firefox_read };

	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
		_cleanup_(profile_freep) struct profile *p = NULL;
		_cleanup_(buf_fini) struct buf b = { 0 };

		if (readers[i](&p, data, len, NULL, NULL) < 0)
			continue;
		if (pprof_write(p, &b, NULL) < 0)
			abort();
	}
	return 0;
}
