/* SPDX-License-Identifier: Apache-2.0 */
/* Parses untrusted selectors. */
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "query/selector.h"
#include "store/matcher.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char value[] = "some value 12.34-aaaaaaaaaaaaaaaaaaaaaaaa";
	_cleanup_(selector_fini) struct selector s = { 0 };

	if (selector_parse(&s, (const char *)data, len, NULL) < 0)
		return 0;
	for (size_t i = 0; i < s.len; i++)
		matcher_test(s.data[i], value, strlen(value));
	return 0;
}
