/* SPDX-License-Identifier: Apache-2.0 */
/* gperftools' and Austin's profiles from strangers: what is accepted can be written as pprof. */
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "codec/austin_read.h"
#include "codec/gperftools_read.h"
#include "codec/pprof_read.h"
#include "codec/pprof_write.h"
#include "profile/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	_cleanup_(profile_freep) struct profile *p = NULL, *again = NULL;
	_cleanup_(buf_fini) struct buf b = { 0 };
	int r;

	if (austin_is(data, len))
		r = austin_read(&p, data, len, NULL, NULL);
	else
		r = gperftools_read(&p, data, len, NULL, NULL);
	if (r < 0)
		return 0;
	if (pprof_write(p, &b, NULL) < 0 || pprof_read(&again, b.data, b.len, NULL, NULL) < 0 ||
	    profile_n_samples(again) >
		    profile_n_samples(p)) /* names that are no UTF-8 may become alike */
		abort();
	return 0;
}
