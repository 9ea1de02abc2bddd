/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/common/limits.h"

#include "profile/profile.h"

enum { STEP = 4096 }; /* bytes, so that a request of many small profiles is accounted too */

int codec_account(struct codec_account *a, const struct codec_limits *max, const struct profile *p,
		  struct err *err)
{
	size_t bytes, more;
	int r;

	if (!max->claim_profile)
		return 0;
	if (a->p != p)
		*a = (struct codec_account){ .p = p };
	bytes = profile_bytes(p);
	more = bytes > a->claimed ? bytes - a->claimed : 0;
	if (more < STEP)
		return 0;
	r = max->claim_profile(max->claim_ctx, more, err);
	if (r == 0)
		a->claimed = bytes;
	return r;
}
