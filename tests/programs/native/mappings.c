/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mappings MS COUNT FILE...: maps the first page of a FILE executable COUNT times, of each FILE in
 * turn, then runs main -> hot.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "work.h"

static volatile uint64_t sink;

CALLED static uint64_t hot(uint64_t n)
{
	return spin(n, 100000);
}

int main(int argc, char **argv)
{
	long count = argc > 3 ? strtol(argv[2], NULL, 10) : 0;
	clock_t start;

	for (long i = 0; i < count; i++) {
		int fd = open(argv[3 + i % (argc - 3)], O_RDONLY | O_CLOEXEC);

		if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED) {
			perror("mmap");
			return 1;
		}
		close(fd);
	}
	start = clock() / (CLOCKS_PER_SEC / 1000);
	while (busy(start + busy_ms(argc, argv)))
		sink += hot(sink);
	return 0;
}
