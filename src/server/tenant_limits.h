/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The rates at which tenants may push, and how many queries each may have at once. A tenant has a
 * rate of its own that no other can use up; beyond it there is a pool that all tenants
 * share. Counts by tenant are part of /metrics. Any thread.
 *
 * The table of tenants is bounded. A tenant beyond it gets the least recently used entry.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct buf;
struct err;
struct tenant_limits;

/* 0 disables a limit. */
struct tenant_limits_options {
	uint64_t bytes_per_s, profiles_per_s;               /* of each tenant */
	uint64_t shared_bytes_per_s, shared_profiles_per_s; /* of the pool; 0: it is empty */
	unsigned int max_queries;                           /* of each tenant, waiting or running */
};

/* Amounts that a tenant is limited in. */
enum tenant_resource { TENANT_BYTES, TENANT_PROFILES, TENANT_RESOURCE_MAX };

/* @opt is copied. Returns 0 or -ENOMEM. */
int tenant_limits_new(struct tenant_limits **out, const struct tenant_limits_options *opt);
void tenant_limits_free(struct tenant_limits *t);

DEFINE_FREEP(struct tenant_limits, tenant_limits_free)

/*
 * Returns the seconds until the tenant may push again, at most 60; 0 if it may now. It charges
 * nothing, so that a push can be refused before its body is received, and counts the refusal.
 */
unsigned int tenant_limits_wait_s(struct tenant_limits *t, const char *tenant);

/*
 * Charges a push. Returns 0, or -EBUSY with the reason in @err, when nothing is charged. A single
 * push may exceed the rate; the following ones then wait until it is made up for.
 */
int tenant_limits_charge(struct tenant_limits *t, const char *tenant, enum tenant_resource what,
			 uint64_t n, struct err *err);

/*
 * Returns NULL if the tenant has as many queries as it may, or a token that must be passed to
 * tenant_limits_end_query() exactly once, from any thread. The caller holds it from when the query
 * is complete until its response is computed, not while the client sends or reads.
 */
void *tenant_limits_begin_query(struct tenant_limits *t, const char *tenant);
void tenant_limits_end_query(struct tenant_limits *t, void *token);

/*
 * Appends the metrics of the tenants in Prometheus' text format: a line each for the first hundred,
 * and their sum for the others.
 */
void tenant_limits_put(struct tenant_limits *t, struct buf *out);
