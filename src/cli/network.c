/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/network.h"

#include <stddef.h>

#include "export/exporter_role.h"
#include "fetch/fetcher.h"
#include "roles/launcher.h"

int network_open(struct network *n, unsigned int uses, struct err *err)
{
	int r = uses ? role_launcher_new(&n->launcher, &exporter_role, EXPORTER_MEMORY, err) : 0;

	if (r == 0 && uses & NETWORK_DOWNLOADS)
		r = fetcher_new(&n->fetcher, &exporter_role, n->launcher);
	if (r == 0 && uses & NETWORK_SCRAPES)
		r = fetcher_new(&n->scraping, &exporter_role, n->launcher);
	return r;
}

void network_close(struct network *n)
{
	fetcher_free(n->fetcher);
	fetcher_free(n->scraping);
	role_launcher_free(n->launcher);
	*n = (struct network){ 0 };
}

bool network_has_died(const struct network *n)
{
	return n->launcher && role_launcher_is_dead(n->launcher);
}
