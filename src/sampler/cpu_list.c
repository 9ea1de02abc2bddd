/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the kernel's CPU list format: Documentation/admin-guide/kernel-parameters.rst, "CPU
 * lists". The stride form ("0-7:2/4") does not occur in sysfs and is refused.
 */
#include "sampler/cpu_list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"

static int add_range(struct cpu_list *out, unsigned long first, unsigned long last)
{
	int r = 0;

	if (last < first || last >= CPUS_MAX)
		return -EINVAL;
	for (unsigned long i = first; i <= last && r == 0; i++)
		r = vec_push(out, (int)i);
	return r;
}

int cpu_list_parse(struct cpu_list *out, const char *text, struct err *err)
{
	const char *p = text;
	char *end;
	int r;

	for (;;) {
		unsigned long first, last;

		if (*p < '0' || *p > '9')
			return err_set(err, -EINVAL,
				       "invalid CPU list \"%.60s\": expected numbers and ranges "
				       "such as 0-3,8",
				       text);
		first = last = strtoul(p, &end, 10);
		if (*end == '-' && end[1] >= '0' && end[1] <= '9')
			last = strtoul(end + 1, &end, 10);
		r = add_range(out, first, last);
		if (r < 0)
			return err_set(err, r, "invalid range in CPU list \"%.60s\"", text);
		if (*end == '\0' || *end == '\n')
			return 0;
		if (*end != ',')
			return err_set(err, -EINVAL,
				       "invalid CPU list \"%.60s\": expected numbers and ranges "
				       "such as 0-3,8",
				       text);
		p = end + 1;
	}
}

int cpu_list_online(struct cpu_list *out, struct err *err)
{
	static const char path[] = "/sys/devices/system/cpu/online";
	_cleanup_(fclosep) FILE *f = fopen(path, "re");
	char line[4096];

	if (!f || !fgets(line, sizeof(line), f))
		return err_set(err, -EIO, "cannot read %s: %s", path, strerror(f ? EIO : errno));
	return cpu_list_parse(out, line, err);
}
