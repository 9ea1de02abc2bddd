/* SPDX-License-Identifier: Apache-2.0 */
#include "scrape/scrape_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file_contents.h"
#include "metadata/kubelet.h"
#include "metadata/rules.h"
#include "scrape/scrape_pods.h"

enum {
	FILE_MAX = 1 << 20,
	SLACK_SHARE =
		10, /* as divisor: timed profiles end this part of an interval before its end */
};

static const uint64_t SLACK_MIN_NS = CLOCK_SECOND_NS, SLACK_MAX_NS = 3ULL * CLOCK_SECOND_NS;

static int read_targets(struct scrape_targets *to, const char *file, struct err *err)
{
	_cleanup_(buf_fini) struct buf data = { 0 };
	int r = file_contents(file, FILE_MAX, &data, err);

	return r < 0 ? r : scrape_targets_read(to, data.data, data.len, err);
}

static int check_file(const char *file, struct err *err)
{
	_cleanup_(scrape_targets_fini) struct scrape_targets t = { 0 };
	int r = file ? read_targets(&t, file, err) : 0;

	return r < 0 ? err_set(err, r, "%.150s: %s", file, strerror(-r)) : 0;
}

void scrape_config_free(struct scrape_config *c)
{
	if (!c)
		return;
	scrape_targets_fini(&c->targets);
	scrape_auths_fini(&c->auths);
	rules_free(c->rules);
	kubelet_free(c->kubelet);
	free(c->file);
	free(c);
}

int scrape_config_new(struct scrape_config **out, const struct scrape_config_opts *from,
		      struct err *err)
{
	_cleanup_(scrape_config_freep) struct scrape_config *c = calloc(1, sizeof(*c));
	int r = c ? check_file(from->file, err) : -ENOMEM;

	if (r == 0)
		r = rules_new(&c->rules);
	for (size_t i = 0; r == 0 && i < from->n_targets; i++)
		r = scrape_targets_add(&c->targets, from->targets[i], err);
	for (size_t i = 0; r == 0 && i < from->n_rules; i++)
		r = rules_add(c->rules, from->rules[i], err);
	for (size_t i = 0; r == 0 && i < from->n_auths; i++)
		r = scrape_auths_add(&c->auths, from->auths[i], from->fetcher, err);
	if (r == 0 && from->kubelet)
		r = kubelet_new(&c->kubelet, from->kubelet, err);
	if (r < 0)
		return r;
	c->types = from->types;
	c->interval_ns = from->interval_ns;
	c->file = from->file ? strdup(from->file) : NULL;
	if (from->file && !c->file)
		return -ENOMEM;
	*out = steal_ptr(&c);
	return 0;
}

unsigned int scrape_config_seconds(const struct scrape_config *c)
{
	uint64_t slack = c->interval_ns / SLACK_SHARE, left;

	slack = slack < SLACK_MIN_NS ? SLACK_MIN_NS : slack > SLACK_MAX_NS ? SLACK_MAX_NS : slack;
	left = c->interval_ns > slack ? c->interval_ns - slack : 0;
	return left < CLOCK_SECOND_NS ? 1 : (unsigned int)(left / CLOCK_SECOND_NS);
}

int scrape_config_read_file(const struct scrape_config *c, struct scrape_targets *out,
			    struct err *err)
{
	return c->file ? read_targets(out, c->file, err) : 0;
}

static int add_pod(void *ctx, const struct kubelet_pod *pod)
{
	return scrape_pods_add(ctx, pod);
}

int scrape_config_read_pods(const struct scrape_config *c, struct scrape_targets *out,
			    struct err *err)
{
	return c->kubelet ? kubelet_each_pod(c->kubelet, add_pod, out, err) : 0;
}
