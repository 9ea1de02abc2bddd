/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/args.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "codec/format.h"

enum { PIDS_MAX = 4096 };

static bool whole_number(const char *text, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	return !errno && *text >= '0' && *text <= '9' && !*end;
}

int args_limit(const char *text, uint64_t *out, struct err *err)
{
	if (!whole_number(text, out))
		return err_set(err, -EINVAL, "--limit takes a number of rows, not %.40s", text);
	return 0;
}

int args_number(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *out,
		struct err *err)
{
	if (!whole_number(text, out) || *out < min || *out > max)
		return err_set(err, -EINVAL,
			       "--%s takes a whole number from %" PRIu64 " to %" PRIu64
			       ", not %.40s",
			       option, min, max, text);
	return 0;
}

int args_percent(const char *option, const char *text, double max, double *out, struct err *err)
{
	char *end;

	*out = strtod(text, &end);
	if (end == text || (*end && strcmp(end, "%") != 0) || !(*out >= 0) || !(*out <= max))
		return err_set(err, -EINVAL, "--%s takes a percentage, not %.40s", option, text);
	return 0;
}

int args_by(const char *text, enum entries_by *out, const char **out_key, struct err *err)
{
	static const char *const names[] = {
		[ENTRIES_BY_FUNCTION] = "function", [ENTRIES_BY_BINARY] = "binary",
		[ENTRIES_BY_FILE] = "file",         [ENTRIES_BY_LINE] = "line",
		[ENTRIES_BY_LANGUAGE] = "language", [ENTRIES_BY_PROCESS] = "process",
		[ENTRIES_BY_THREAD] = "thread",     [ENTRIES_BY_COLUMN] = "column",
	};

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(text, names[i])) {
			*out = i;
			return 0;
		}
	}
	if (strncmp(text, "label", 5) != 0 || !text[5] || !strchr(":= ", text[5]) || !text[6])
		return err_set(err, -EINVAL,
			       "--by takes function, binary, file, line, column, language, "
			       "process, thread or label:KEY, not %.40s",
			       text);
	*out = ENTRIES_BY_LABEL;
	*out_key = text + 6;
	return 0;
}

int args_pids(const char *s, struct pid_list *out, struct err *err)
{
	char *end;

	do {
		unsigned long pid = strtoul(s, &end, 10);

		if (*s < '0' || *s > '9' || !pid || pid > INT32_MAX || (*end && *end != ','))
			return err_set(err, -EINVAL, "-p takes process ids, not %.40s", s);
		if (out->len >= PIDS_MAX || vec_push(out, (uint32_t)pid) < 0)
			return err_set(err, -EINVAL, "-p: too many processes");
		s = end + 1;
	} while (*end);
	return 0;
}

int args_open_process(uint32_t pid, struct err *err)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd >= 0)
		return fd;
	/* a thread: EINVAL, and ENOENT in newer kernels */
	if (errno == EINVAL || errno == ENOENT)
		return err_set(err, -errno, "%u is a thread's id: -p takes processes", pid);
	return err_set(err, -errno, "no process %u: %s", pid, strerror(errno));
}

int args_from(const char *text, const struct format **out, struct err *err)
{
	const struct format *f = format_by_id(text);

	if (!f || !format_can_read(f))
		return err_set(err, -EINVAL, "--from: %.60s is no format that can be read", text);
	*out = f;
	return 0;
}
