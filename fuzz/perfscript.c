/* SPDX-License-Identifier: Apache-2.0 */
/* Untrusted output of `perf script`: accepted input can be written. */
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "codec/perf/perfscript_read.h"
#include "codec/pprof/pprof.h"
#include "codec/text/text.h"
#include "profile/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	_cleanup_(profile_freep) struct profile *p = NULL, *again = NULL;
	_cleanup_(buf_fini) struct buf folded = { 0 }, pb = { 0 };

	perfscript_detect(data, len);
	if (perfscript_read(&p, data, len, NULL, NULL) < 0)
		return 0;
	if (folded_write(p, NULL, &folded, NULL) < 0 || pprof_write(p, &pb, NULL) < 0 ||
	    pprof_read(&again, pb.data, pb.len, NULL, NULL) < 0)
		abort();
	return 0;
}
