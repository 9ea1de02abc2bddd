/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * OpenTelemetry's ExportProfilesServiceRequest (profiles v1development, layout
 * 1.10): what is posted to a collector, and what an .otlp.pb file holds. No
 * key or value of a resource is a reference into the dictionary, as receivers
 * do not resolve those.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct profile;

struct otlp_attribute {
	const char *key;
	const char *str; /* NULL: the value is @num */
	int64_t num;
};

struct otlp_options {
	const struct otlp_attribute *resource; /* "service.name" and so on */
	size_t n_resource;
	const char *scope_name, *scope_version; /* or NULL */
	const uint8_t *profile_id;              /* 16 bytes, or NULL */
	/*
	 * A profile of the protocol has one sample type. False: each type of @p
	 * is a profile. True: only the first, from whose counts and period a
	 * receiver computes the rest.
	 */
	bool first_type_only;
};

/*
 * Append the request; labels become attributes of the samples under the same
 * keys. A sample whose times are as many as it counts is written as these
 * times, others with their value. 0 or -ENOMEM. @opt may be NULL.
 */
int otlp_write(const struct profile *p, const struct otlp_options *opt, struct buf *out,
	       struct err *err);
