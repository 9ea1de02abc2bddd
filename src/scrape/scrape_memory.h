/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The limit of the memory that scraping uses, and the shares of its parts: bodies that arrive or
 * are kept, three profiles (one being read, two being sent), the reader, the process that
 * downloads.
 */
enum {
	SCRAPE_BODIES_BYTES = 8 << 20,
	SCRAPE_PROFILE_BYTES = 4 << 20,
	SCRAPE_READER_BYTES = 20 << 20,
	SCRAPE_DOWNLOADS_BYTES = 8 << 20,
	SCRAPE_BYTES = SCRAPE_BODIES_BYTES + 3 * SCRAPE_PROFILE_BYTES + SCRAPE_READER_BYTES +
		       SCRAPE_DOWNLOADS_BYTES,
};
