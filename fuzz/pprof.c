/* SPDX-License-Identifier: Apache-2.0 */
/* Untrusted pprof files: accepted input is written and must be accepted again. */
#include "codec/pprof/pprof.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "codec/chrome/chrome.h"
#include "codec/common/limits.h"
#include "codec/firefox/firefox.h"
#include "codec/svg/svg_write.h"
#include "profile/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	_cleanup_(profile_freep) struct profile *p = NULL, *again = NULL;
	_cleanup_(buf_fini) struct buf b = { 0 };
	struct codec_limits limits = codec_limits_default();

	limits.bytes = 1 << 20;
	if (pprof_read(&p, data, len, &limits, NULL) < 0)
		return 0;
	if (pprof_write(p, &b, NULL) < 0 || pprof_read(&again, b.data, b.len, NULL, NULL) < 0 ||
	    profile_n_samples(again) != profile_n_samples(p))
		abort();
	for (size_t i = 0; i < profile_n_sample_types(p); i++) {
		const struct format_options opt = { .value_num = i };

		b.len = 0;
		if (svg_write(p, &opt, &b, NULL) < 0 || chrome_write(p, &opt, &b, NULL) < 0 ||
		    firefox_write(p, &opt, &b, NULL) < 0)
			abort();
	}
	return 0;
}
