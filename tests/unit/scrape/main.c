/* SPDX-License-Identifier: Apache-2.0 */
#include "export/exporter_role.h"
#include "reader/reader.h"

int test_scrape_auth(void);
int test_scrape_kept(void);
int test_scrape_pods(void);
int test_scrape_targets(void);
int test_scrape_types(void);
int test_scraper(void);

int main(int argc, char **argv)
{
	const struct role *const roles[] = { &exporter_role, &reader_role };

	role_main(argc, argv, roles, 2);
	return test_scrape_auth() + test_scrape_kept() + test_scrape_pods() +
	       test_scrape_targets() + test_scrape_types() + test_scraper();
}
