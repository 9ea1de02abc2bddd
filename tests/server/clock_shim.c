/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For LD_PRELOAD: moves CLOCK_REALTIME by the nanoseconds in the first eight bytes of the file
 * $CAMEO_TEST_CLOCK, which may change at any time. Waits until a time of CLOCK_REALTIME are those
 * of the kernel, which knows nothing of this: a program that computes such a time waits too long or
 * not at all, as it does when the clock is really set.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { SECOND_NS = 1000000000 };

static _Atomic int64_t *offset;

__attribute__((constructor)) static void open_file(void)
{
	const char *path = getenv("CAMEO_TEST_CLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*offset), PROT_READ, MAP_SHARED, fd, 0);

	if (at != MAP_FAILED)
		offset = at;
	if (fd >= 0)
		close(fd);
}

EXPORT int clock_gettime(clockid_t id, struct timespec *out)
{
	int r = (int)syscall(SYS_clock_gettime, id, out);
	int64_t ns;

	if (r != 0 || !offset || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE))
		return r;
	ns = out->tv_sec * (int64_t)SECOND_NS + out->tv_nsec + atomic_load(offset);
	out->tv_sec = ns / SECOND_NS;
	out->tv_nsec = ns % SECOND_NS;
	return 0;
}

EXPORT time_t time(time_t *out)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (out)
		*out = now.tv_sec;
	return now.tv_sec;
}

EXPORT int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	*out = (struct timeval){ now.tv_sec, now.tv_nsec / 1000 };
	return 0;
}
