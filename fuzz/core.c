/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Core files of arbitrary bytes: parsing and walking them stays within their memory and terminates.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "capture/capture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct buf trace = { 0 }, expected = { 0 };
	struct capture_replay replay;

	(void)capture_replay(data, len, &trace, &expected, &replay, NULL);
	buf_fini(&trace);
	buf_fini(&expected);
	return 0;
}
