/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reading OpenTelemetry's ExportProfilesServiceRequest from anybody: layout
 * 1.10 and later, and 1.8 and 1.9, whose samples are numbered otherwise. Which
 * one it is, a request does not say; it is told by the shape of its samples.
 */
#include <stddef.h>

struct codec_limits;
struct err;
struct profile;
struct profile_label;

/*
 * All profiles of the request as one, which has all their sample types.
 * Attributes of resources, profiles and samples become labels of the samples,
 * under our names (otlp_labels.h).
 *
 * 0 and a new profile; -EBADMSG when it is not valid, and @err says what is
 * wrong where; -EFBIG beyond @limits (NULL: the default ones); -ENOMEM.
 */
int otlp_read(struct profile **out, const void *data, size_t len, const struct codec_limits *limits,
	      struct err *err);

/* One profile of a request, and the attributes of its resource and scope, with its strings. */
struct otlp_part {
	struct profile *profile; /* the callee's now */
	const struct profile_label *resource;
	size_t n_resource;
	const void *id; /* 16 bytes, or none */
	size_t id_len;
};

/* Return below 0 to stop: it is what the caller gets. */
typedef int (*otlp_part_fn)(void *ctx, const struct otlp_part *part);

/* The same, a profile after the other, labels as they are called there; a request without a
 * dictionary is not valid. */
int otlp_read_parts(const void *data, size_t len, const struct codec_limits *limits,
		    otlp_part_fn fn, void *ctx, struct err *err);
