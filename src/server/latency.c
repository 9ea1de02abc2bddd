/* SPDX-License-Identifier: Apache-2.0 */
#include "server/latency.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "server/api.h"

/*
 * A request changes two atomic numbers: that of its bucket and the sum of times. Prometheus'
 * cumulative buckets and the total are computed when metrics are read, which is rare.
 */
#define METRIC "cameo_request_duration_seconds"

/*
 * Upper bounds of the buckets, with the text of the label "le". They cover small methods, which
 * take less than a millisecond, up to the default time limit of a query.
 */
static const struct {
	int64_t ns;
	const char *text;
} bounds[] = {
	{ 1000000, "0.001" },  { 5000000, "0.005" },  { 10000000, "0.01" },  { 25000000, "0.025" },
	{ 50000000, "0.05" },  { 100000000, "0.1" },  { 250000000, "0.25" }, { 500000000, "0.5" },
	{ 1000000000, "1" },   { 2500000000, "2.5" }, { 5000000000, "5" },   { 10000000000, "10" },
	{ 30000000000, "30" }, { INT64_MAX, "+Inf" },
};

enum { N_BOUNDS = sizeof(bounds) / sizeof(bounds[0]) };

/* Counts of the requests within each bound and above the one before; their sum is the number. */
struct histogram {
	atomic_uint_fast64_t n[N_BOUNDS], sum_ns;
};

/* In the order of api_lists. */
struct latency {
	size_t n_methods;
	struct histogram by_method[][LATENCY_CLASSES];
};

static const char *const class_names[] = { "none", "default", "named" };

static size_t count_methods(void)
{
	size_t n = 0;

	for (const struct api_list *const *list = api_lists; *list; list++)
		n += (*list)->n;
	return n;
}

/*
 * The index of a method, counted over all lists. The methods of a list are one array, so a pointer
 * between its ends belongs to it. A method of no list has the index n_methods.
 */
static size_t index_of(const struct api_method *api)
{
	size_t n = 0;

	for (const struct api_list *const *list = api_lists; *list; list++) {
		if (api >= (*list)->methods && api < (*list)->methods + (*list)->n)
			return n + (size_t)(api - (*list)->methods);
		n += (*list)->n;
	}
	return n;
}

int latency_new(struct latency **out)
{
	size_t n = count_methods();
	struct latency *l = calloc(1, sizeof(*l) + n * sizeof(l->by_method[0]));

	if (!l)
		return -ENOMEM;
	l->n_methods = n;
	*out = l;
	return 0;
}

void latency_free(struct latency *l)
{
	free(l);
}

void latency_add(struct latency *l, const struct api_method *api, enum latency_class class,
		 int64_t ns)
{
	size_t method = index_of(api), bound = 0;
	struct histogram *h;

	if (method >= l->n_methods)
		return;
	h = &l->by_method[method][class];
	while (ns > bounds[bound].ns)
		bound++;
	atomic_fetch_add_explicit(&h->n[bound], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&h->sum_ns, (uint64_t)(ns > 0 ? ns : 0), memory_order_relaxed);
}

/* Buckets without requests are written too: rates are computed from equal sets of bounds. */
static void put_histogram(const struct histogram *h, const char *path, const char *class,
			  struct buf *out)
{
	uint64_t n = 0, all = 0;

	for (size_t i = 0; i < N_BOUNDS; i++)
		all += h->n[i];
	if (!all)
		return;
	for (size_t i = 0; i < N_BOUNDS; i++) {
		n += h->n[i];
		buf_printf(out,
			   METRIC "_bucket{endpoint=\"%s\",tenants=\"%s\",le=\"%s\"} %" PRIu64 "\n",
			   path, class, bounds[i].text, n);
	}
	buf_printf(out, METRIC "_sum{endpoint=\"%s\",tenants=\"%s\"} %.6f\n", path, class,
		   (double)h->sum_ns / CLOCK_SECOND_NS);
	buf_printf(out, METRIC "_count{endpoint=\"%s\",tenants=\"%s\"} %" PRIu64 "\n", path, class,
		   n);
}

void latency_put(const struct latency *l, struct buf *out)
{
	size_t method = 0;

	buf_printf(out,
		   "# HELP " METRIC " Time from a complete request to its response, by method and "
		   "class of tenants.\n# TYPE " METRIC " histogram\n");
	for (const struct api_list *const *list = api_lists; *list; list++)
		for (size_t i = 0; i < (*list)->n; i++, method++)
			for (int c = 0; c < LATENCY_CLASSES; c++)
				put_histogram(&l->by_method[method][c], (*list)->methods[i].path,
					      class_names[c], out);
}
