/* SPDX-License-Identifier: Apache-2.0 */
/* faults PAGES: writes to that many pages that were never written to before. */
#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

static __attribute__((noinline)) void touch(volatile char *p, size_t n_pages)
{
	for (size_t i = 0; i < n_pages; i++)
		p[i * PAGE] = 1;
}

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	char *p = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || madvise(p, n * PAGE, MADV_NOHUGEPAGE) < 0)
		return 1;
	touch(p, n);
	return 0;
}
