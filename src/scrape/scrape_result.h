/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The results of requests for profiles. Pure functions; the texts are constants. */

enum scrape_result {
#define X(sym, ...) SCRAPE_##sym,
#include "scrape/scrape_results.def"
#undef X
	SCRAPE_RESULT_MAX,
};

/* For metrics: "too_large". */
const char *scrape_result_label(enum scrape_result r);
/* For messages: "the profile is too large". */
const char *scrape_result_text(enum scrape_result r);

/* The result for a status of HTTP, or for -errno. */
enum scrape_result scrape_result_of(int r);
