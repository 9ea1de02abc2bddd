/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_file MS FILE OFFSET: maps FILE and calls the loop at OFFSET in it, until MS of CPU time have
 * passed: main -> outer -> code of a file with false metadata.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

#include "work.h"

static volatile uint64_t sink;

CALLED static uint64_t outer(uint64_t (*loop)(uint64_t), uint64_t n)
{
	return loop(n) + 1;
}

int main(int argc, char **argv)
{
	int fd = argc > 3 ? open(argv[2], O_RDONLY | O_CLOEXEC) : -1;
	off_t at = argc > 3 ? strtol(argv[3], NULL, 0) : 0;
	uint64_t (*loop)(uint64_t);
	char *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, at & ~4095);

	if (p == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	*(void **)&loop = p + (at & 4095);
	while (busy(busy_ms(argc, argv)))
		sink += outer(loop, 1000000);
	return 0;
}
