/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/agent_scraper.h"

#include "agent/config.h"
#include "metadata/kubelet.h"
#include "scrape/scrape_config.h"
#include "scrape/scrape_types.h"
#include "scrape/scraper.h"

int agent_scraper_configure(struct scraper *s, const struct agent_config *c,
			    struct fetcher *fetcher, struct err *err)
{
	const struct kubelet_opts kubelet = {
		.fetcher = fetcher,
		.url = c->kubelet,
		.token_file = c->kubelet_token_file,
		.ca_file = c->kubelet_ca_file,
	};
	struct scrape_config_opts config = {
		.targets = (const char *const *)c->scrape.data,
		.n_targets = c->scrape.len,
		.auths = (const char *const *)c->scrape_auth.data,
		.n_auths = c->scrape_auth.len,
		.fetcher = fetcher,
		.file = c->scrape_file,
		.kubelet = c->scrape_pods ? &kubelet : NULL,
		.rules = (const char *const *)c->rule.data,
		.n_rules = c->rule.len,
		.interval_ns = c->scrape_interval,
	};
	int r = scrape_types_parse(c->scrape_types, &config.types, err);

	return r < 0 ? r : scraper_configure(s, &config, err);
}
