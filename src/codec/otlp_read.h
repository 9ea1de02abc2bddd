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

/*
 * All profiles of the request as one, which has all their sample types.
 * Attributes of resources, profiles and samples become labels of the samples.
 *
 * 0 and a new profile; -EBADMSG when it is not valid, and @err says what is
 * wrong where; -EFBIG beyond @limits (NULL: the default ones); -ENOMEM.
 */
int otlp_read(struct profile **out, const void *data, size_t len, const struct codec_limits *limits,
	      struct err *err);
