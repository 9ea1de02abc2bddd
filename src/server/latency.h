/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Histograms of the time that requests took, by API method and class of tenants, for /metrics. The
 * time includes waiting for a worker, not sending the response. Any thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct api_method;
struct buf;
struct latency;

/* Tenants are not counted one by one: there may be any number of them. */
enum latency_class {
	LATENCY_NONE,    /* the method is about no tenant */
	LATENCY_DEFAULT, /* the tenant of clients that name none */
	LATENCY_NAMED,   /* any other */
	LATENCY_CLASSES,
};

/* Returns 0 or -ENOMEM. */
int latency_new(struct latency **out);
void latency_free(struct latency *l);

DEFINE_FREEP(struct latency, latency_free)

/*
 * Counts a request to @api that took @ns. A method that is not in api_lists is ignored; a negative
 * time counts as 0.
 */
void latency_add(struct latency *l, const struct api_method *api, enum latency_class class,
		 int64_t ns);

/* Appends the histograms that are not empty in Prometheus' text format. */
void latency_put(const struct latency *l, struct buf *out);
