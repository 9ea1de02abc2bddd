/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file_limit.h"

#include <sys/resource.h>

void file_limit_raise(struct rlimit *out_old)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	if (out_old)
		*out_old = limit;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}
