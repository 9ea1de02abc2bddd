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

#include "base/cleanup.h"

struct buf;
struct err;
struct otlp_request;
struct profile;

struct otlp_attribute {
	const char *key;
	const char *str; /* NULL: the value is @num */
	int64_t num;
};

/* What a label's key becomes; NULL: the label is left out. */
struct otlp_rename {
	const char *from, *to;
};

struct otlp_options {
	const struct otlp_attribute *resource; /* "service.name" and so on */
	size_t n_resource;
	const struct otlp_rename *labels; /* those that don't stay as they are */
	size_t n_labels;
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

/* Several profiles, of several resources, that share one dictionary. 0 or -ENOMEM. */
int otlp_request_new(struct otlp_request **out);
void otlp_request_free(struct otlp_request *q);

DEFINE_FREEP(struct otlp_request, otlp_request_free)

/**
 * otlp_request_add() - add a profile with its resource
 *
 * From sample *@io_sample on, until the request has grown to about @max_bytes
 * (but one sample at least): *@io_sample is then where to go on in another
 * request, or the number of samples. Profiles that are to be cut need
 * @opt.first_type_only. Samples of value 0 are left out, a profile of nothing
 * else with them.
 *
 * Return: 1 when something was added, 0 when not; -ENOMEM, after which only
 * otlp_request_free() may follow.
 */
int otlp_request_add(struct otlp_request *q, const struct profile *p,
		     const struct otlp_options *opt, size_t max_bytes, uint32_t *io_sample);

/* About how large it is now. */
size_t otlp_request_bytes(const struct otlp_request *q);

/* Append it. Nothing can be added afterwards. 0 or -ENOMEM. */
int otlp_request_write(struct otlp_request *q, struct buf *out);
