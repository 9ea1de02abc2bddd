/* SPDX-License-Identifier: Apache-2.0 */
/* memfd NAME PROGRAM ARG...: runs PROGRAM from a memfd, which is a file without a path. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv)
{
	int from, to;
	struct stat st;

	if (argc < 3)
		return 2;
	from = open(argv[2], O_RDONLY | O_CLOEXEC);
	to = memfd_create(argv[1], MFD_CLOEXEC);
	if (from < 0 || to < 0 || fstat(from, &st) < 0 ||
	    sendfile(to, from, NULL, (size_t)st.st_size) != st.st_size) {
		perror(argv[2]);
		return 1;
	}
	fexecve(to, argv + 2, environ);
	perror("fexecve");
	return 1;
}
