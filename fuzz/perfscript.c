/* SPDX-License-Identifier: Apache-2.0 */
/* Output of `perf script` from strangers: what is accepted can be written. */
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "codec/folded_write.h"
#include "codec/perfscript_read.h"
#include "codec/pprof_read.h"
#include "codec/pprof_write.h"
#include "profile/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	_cleanup_(profile_freep) struct profile *p = NULL, *again = NULL;
	_cleanup_(buf_fini) struct buf folded = { 0 }, pb = { 0 };

	perfscript_is(data, len);
	if (perfscript_read(&p, data, len, NULL, NULL) < 0)
		return 0;
	if (folded_write(p, NULL, &folded, NULL) < 0 || pprof_write(p, &pb, NULL) < 0 ||
	    pprof_read(&again, pb.data, pb.len, NULL, NULL) < 0)
		abort();
	return 0;
}
