/* SPDX-License-Identifier: Apache-2.0 */
/* Untrusted speedscope files: accepted input is written and read again. */
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "codec/speedscope/speedscope.h"
#include "profile/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	_cleanup_(profile_freep) struct profile *p = NULL, *again = NULL;
	_cleanup_(buf_fini) struct buf b = { 0 };

	if (speedscope_read(&p, data, len, NULL, NULL) < 0)
		return 0;
	if (speedscope_write(p, &(struct format_options){ 0 }, &b, NULL) < 0)
		abort();
	/* sums of weights may have grown beyond what a double holds */
	speedscope_read(&again, b.data, b.len, NULL, NULL);
	return 0;
}
