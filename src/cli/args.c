/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages in @why complete an error that already names the option and its value, as in
 * `--by "x": expected function, binary, ...`; see option_assign().
 */
#include "cli/args.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "codec/format.h"
#include "options/value.h"
#include "sampler/sampler.h"

enum { PIDS_MAX = 4096, FREQUENCY_MAX = 100000 };

/*
 * "label:KEY", "label=KEY" and "label KEY" are equivalent: the first is documented, and users type
 * the others too.
 */
int args_parse_by(void *out, const char *text, struct err *why)
{
	static const char *const names[] = {
		[ENTRIES_BY_FUNCTION] = "function", [ENTRIES_BY_BINARY] = "binary",
		[ENTRIES_BY_FILE] = "file",         [ENTRIES_BY_LINE] = "line",
		[ENTRIES_BY_LANGUAGE] = "language", [ENTRIES_BY_PROCESS] = "process",
		[ENTRIES_BY_THREAD] = "thread",     [ENTRIES_BY_COLUMN] = "column",
		[ENTRIES_BY_WAKER] = "waker",
	};
	struct row_key *key = out;

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(text, names[i])) {
			*key = (struct row_key){ .by = i };
			return 0;
		}
	}
	if (strncmp(text, "label", 5) != 0 || !text[5] || !strchr(":= ", text[5]) || !text[6])
		return err_set(why, -EINVAL, "expected " ARGS_BY_LIST);
	*key = (struct row_key){ .by = ENTRIES_BY_LABEL, .label = text + 6 };
	return 0;
}

int args_parse_pids(void *out, const char *text, struct err *why)
{
	struct pid_list *pids = out;
	char *end;

	do {
		unsigned long pid = strtoul(text, &end, 10);

		if (*text < '0' || *text > '9' || !pid || pid > INT32_MAX || (*end && *end != ','))
			return err_set(why, -EINVAL, "expected process ids separated by commas");
		if (pids->len >= PIDS_MAX)
			return err_set(why, -EINVAL, "expected at most %d process ids", PIDS_MAX);
		if (vec_push(pids, (uint32_t)pid) < 0)
			return err_set(why, -ENOMEM, "out of memory");
		text = end + 1;
	} while (*end);
	return 0;
}

/*
 * The kernel refuses frequencies above kernel.perf_event_max_sample_rate, which it lowers by itself
 * when interrupts take too long.
 */
int args_parse_frequency(void *out, const char *text, struct err *why)
{
	uint32_t limit = sampler_max_freq(), max = limit ? limit : FREQUENCY_MAX;
	uint64_t *hz = out, v;

	if (!value_parse_number(text, &v) || !v || v > max)
		return err_set(why, -EINVAL,
			       "expected a number of samples per second between 1 and %u "
			       "(kernel.perf_event_max_sample_rate)",
			       max);
	*hz = v;
	return 0;
}

int args_parse_input_format(void *out, const char *text, struct err *why)
{
	const struct format *f = format_by_id(text);

	if (!f || !format_can_read(f))
		return err_set(why, -EINVAL, "expected one of %s", format_readable_ids());
	*(const struct format **)out = f;
	return 0;
}

/* pidfd_open() is used to test the process, since kill(pid, 0) also accepts ids of threads. */
int args_open_process(uint32_t pid, struct err *err)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd >= 0)
		return fd;
	/* the id of a thread: EINVAL, and ENOENT in newer kernels */
	if (errno == EINVAL || errno == ENOENT)
		return err_set(
			err, -errno,
			"%u is the id of a thread, not of a process: see Tgid in /proc/%u/status",
			pid, pid);
	return err_set(err, -errno, "cannot open process %u: %s", pid, strerror(errno));
}
