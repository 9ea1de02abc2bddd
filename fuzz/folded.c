/* SPDX-License-Identifier: Apache-2.0 */
/* Untrusted folded stacks: accepted input is written and must be the same when it is read again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "codec/page/page_json.h"
#include "codec/text/text.h"
#include "profile/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	_cleanup_(profile_freep) struct profile *p = NULL, *again = NULL;
	_cleanup_(buf_fini) struct buf b = { 0 }, twice = { 0 }, page = { 0 };

	if (folded_read(&p, data, len, NULL, NULL) < 0)
		return 0;
	if (page_json_write(p, NULL, &page, NULL) < 0 || memmem(page.data, page.len, "<", 1))
		abort();
	if (folded_write(p, NULL, &b, NULL) < 0 || memchr(data, 0, len))
		return 0;
	if (folded_read(&again, b.data, b.len, NULL, NULL) < 0 ||
	    folded_write(again, NULL, &twice, NULL) < 0)
		abort();
	return 0;
}
