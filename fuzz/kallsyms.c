/* SPDX-License-Identifier: Apache-2.0 */
/* The input is a list of symbols and, after a NUL, a list of modules. */
#include "symbol/kallsyms.h"

#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int file_with(const uint8_t *data, size_t len)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, len) != (ssize_t)len || lseek(fd, 0, SEEK_SET) < 0)
		abort();
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	_cleanup_(kallsyms_freep) struct kallsyms *k = NULL;
	_cleanup_(closep) int symbols = -1, modules = -1;
	size_t n = len ? strnlen((const char *)data, len) : 0;
	struct kallsyms_symbol s;

	symbols = file_with(data, n);
	if (n < len)
		modules = file_with(data + n + 1, len - n - 1);
	if (kallsyms_load_fds(&k, symbols, modules, NULL) < 0)
		return 0;
	for (uint64_t at = 1; at; at <<= 1)
		if (kallsyms_find(k, at, &s) == 0 && at - s.address >= s.size)
			abort();
	return 0;
}
