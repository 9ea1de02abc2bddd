/* SPDX-License-Identifier: Apache-2.0 */
#include "scrape/scrape_result.h"

#include <errno.h>

static const struct {
	const char *label, *text;
} results[SCRAPE_RESULT_MAX] = {
#define X(sym, label_, text_) [SCRAPE_##sym] = { label_, text_ },
#include "scrape/scrape_results.def"
#undef X
};

const char *scrape_result_label(enum scrape_result r)
{
	return results[r].label;
}

const char *scrape_result_text(enum scrape_result r)
{
	return results[r].text;
}

enum scrape_result scrape_result_of(int r)
{
	switch (r) {
	case 200:
		return SCRAPE_OK;
	case -ETIMEDOUT:
		return SCRAPE_TIMEOUT;
	case -ECONNREFUSED:
	case -EACCES:
		return SCRAPE_REFUSED;
	case -EFBIG:
		return SCRAPE_TOO_LARGE;
	case -EBADMSG:
	case -EINVAL:
	case -EPIPE:
		return SCRAPE_INVALID;
	}
	return r > 0 ? SCRAPE_STATUS : SCRAPE_FAILED;
}
