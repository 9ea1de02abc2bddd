/* SPDX-License-Identifier: Apache-2.0 */
/* Untrusted profiles of gperftools and Austin: accepted input can be written as pprof. */
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "codec/gperftools/gperftools_read.h"
#include "codec/pprof/pprof.h"
#include "codec/text/text.h"
#include "profile/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	_cleanup_(profile_freep) struct profile *p = NULL, *again = NULL;
	_cleanup_(buf_fini) struct buf b = { 0 };
	int r;

	if (austin_detect(data, len))
		r = austin_read(&p, data, len, NULL, NULL);
	else
		r = gperftools_read(&p, data, len, NULL, NULL);
	if (r < 0)
		return 0;
	if (pprof_write(p, &b, NULL) < 0 || pprof_read(&again, b.data, b.len, NULL, NULL) < 0 ||
	    profile_n_samples(again) >
		    profile_n_samples(p)) /* names with invalid UTF-8 may become equal */
		abort();
	return 0;
}
