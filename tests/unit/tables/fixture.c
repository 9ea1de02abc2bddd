/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <string.h>

#include "codec/text/text.h"
#include "tests/test.h"

struct profile *fixture_folded(const char *text)
{
	struct profile *p;

	assert_int_equal(folded_read(&p, text, strlen(text), NULL, NULL), 0);
	return p;
}
