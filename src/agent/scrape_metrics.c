/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/scrape_metrics.h"

#include "agent/metric_text.h"
#include "scrape/scraper.h"

void scrape_metrics_text(struct buf *out, const struct scraper_stats *s)
{
	static const char requests[] = "cameo_scrape_requests_total", up[] = "cameo_scrape_up";

	metric_head(out, requests, "counter",
		    "Requests for profiles of scraped programs, by result.");
	for (int i = 0; i < SCRAPE_RESULT_MAX; i++)
		metric_labelled(out, requests, "result", scrape_result_label((enum scrape_result)i),
				s->results[i]);
	metric_counter(out, "cameo_scrape_profiles_total", s->n_profiles,
		       "Scraped profiles that were exported, one for each sample type.");
	metric_counter(
		out, "cameo_scrape_first_total", s->n_first,
		"Scraped profiles of allocations, contention or blocking that were the first "
		"of a program, whose interval is unknown.");
	metric_counter(out, "cameo_scrape_intervals_total", s->n_rounds,
		       "Intervals in which programs were scraped.");
	metric_counter(out, "cameo_scrape_late_total", s->n_late,
		       "Intervals that took longer than --scrape-interval.");
	metric_gauge(out, "cameo_scrape_targets", s->n_targets, "Programs to scrape.");
	metric_gauge(out, "cameo_scrape_targets_refused", s->n_refused,
		     "Programs that are not scraped, because there are too many.");
	metric_head(
		out, up, "gauge",
		"1 if all requests to the program in the last interval succeeded, otherwise 0.");
	for (size_t i = 0; i < s->n_targets; i++)
		metric_labelled(out, up, "target", s->targets[i].instance, s->targets[i].is_up);
}
