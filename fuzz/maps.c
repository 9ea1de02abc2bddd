/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/maps.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int check(void *ctx, const struct proc_map *m)
{
	if (m->start >= m->end || strlen(m->path) >= PROC_PATH_MAX)
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	_cleanup_(closep) int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, len) != (ssize_t)len || lseek(fd, 0, SEEK_SET) < 0)
		abort();
	proc_maps_read_text(fd, PROC_MAPS_ALL, check, NULL, NULL);
	return 0;
}
