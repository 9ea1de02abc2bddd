/* SPDX-License-Identifier: Apache-2.0 */
#include "sampler/kernel_error.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"

static bool kernel_is_locked_down(void)
{
	_cleanup_(fclosep) FILE *f = fopen("/sys/kernel/security/lockdown", "re");
	char line[128] = "";

	return f && fgets(line, sizeof(line), f) && strstr(line, "[confidentiality]");
}

int kernel_error(int r, const char *what, struct err *err)
{
	if (kernel_is_locked_down())
		return err_set(err, r,
			       "the kernel is locked down (confidentiality): boot with "
			       "lockdown=integrity or without lockdown");
	if (r == -EPERM || r == -EACCES)
		return err_set(err, r,
			       "no permission to %s: run as root, or with CAP_BPF, CAP_PERFMON and "
			       "CAP_SYS_PTRACE",
			       what);
	return err_set(err, r, "cannot %s: %s", what, strerror(-r));
}
