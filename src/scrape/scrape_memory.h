/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The memory that scraping takes at most, of which the limits of its parts are shares: bodies that
 * arrive or are kept, three profiles (one being read, two being sent), the reader, the process
 * that downloads.
 */
enum {
	SCRAPE_BODIES_BYTES = 8 << 20,
	SCRAPE_PROFILE_BYTES = 4 << 20,
	SCRAPE_READER_BYTES = 20 << 20,
	SCRAPE_DOWNLOADS_BYTES = 8 << 20,
	SCRAPE_BYTES = SCRAPE_BODIES_BYTES + 3 * SCRAPE_PROFILE_BYTES + SCRAPE_READER_BYTES +
		       SCRAPE_DOWNLOADS_BYTES,
};
