/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads OpenTelemetry's ExportProfilesServiceRequest from untrusted data, in the layouts of
 * versions 1.8 and 1.9 and of 1.10 and later, which number the fields of samples differently. A
 * request does not state its version; it is inferred from the types of these fields.
 */
#include <stddef.h>

struct codec_limits;
struct err;
struct profile;
struct profile_label;

/*
 * Merges all profiles of the request into one that has all their sample types. Attributes of
 * resources, profiles and samples become labels under this program's names (otlp_labels.h).
 *
 * Returns 0 and a new profile; -EBADMSG with the place in @err; -EFBIG beyond @limits (NULL: the
 * default ones); -ENOMEM. Equal samples of two profiles become one. The start time is the earliest
 * and the duration the longest of all profiles; the period is that of the first profile that has a
 * period type.
 */
int otlp_read(struct profile **out, const void *data, size_t len, const struct codec_limits *limits,
	      struct err *err);

/*
 * One profile of a request. Everything but @profile is borrowed for the call. For a profile that
 * cannot be read, only @error is set, and the reason is in the err of otlp_read_profiles() during
 * the call.
 */
struct otlp_profile {
	struct profile *profile;              /* owned by the callback */
	int error;                            /* -EBADMSG or -EFBIG; then profile is NULL */
	const struct profile_label *resource; /* attributes of its resource and scope; string ids */
	size_t n_resource;                    /* are those of @profile */
	const void *id;                       /* 16 bytes if given */
	size_t id_len;
};

/*
 * A negative result stops reading and is returned to the caller. The callback owns profile->profile
 * even if it fails.
 */
typedef int (*otlp_profile_fn)(void *ctx, const struct otlp_profile *profile);

/*
 * Calls @fn for one profile after the other. Attribute keys are not renamed. A request with
 * profiles and without a dictionary is not valid. Returns the same values as otlp_read() does if
 * the request as a whole cannot be read, or the result of @fn. Profiles that were delivered before
 * an error stay delivered: a caller that must store all or nothing collects them first.
 */
int otlp_read_profiles(const void *data, size_t len, const struct codec_limits *limits,
		       otlp_profile_fn fn, void *ctx, struct err *err);
