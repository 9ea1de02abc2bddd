/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target over files, without libFuzzer: every file named on the
 * command line, and every file in each directory named there. So a corpus is a regression test
 * with any compiler. A run without any input fails.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* A block of exactly the input's size lets a sanitizer detect a read beyond it. */
static int run_file(int fd, size_t len)
{
	_cleanup_(freep) uint8_t *data = malloc(len ? len : 1);
	size_t got = 0;

	if (!data)
		return -ENOMEM;
	while (got < len) {
		ssize_t n = read(fd, data + got, len - got);

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		got += (size_t)n;
	}
	LLVMFuzzerTestOneInput(data, len);
	return 0;
}

static int run_path(int dirfd, const char *path, unsigned int *n_run);

static int run_dir(int fd, unsigned int *n_run)
{
	_cleanup_(closedirp) DIR *dir = fdopendir(dup(fd));
	const struct dirent *e;
	int r = 0;

	if (!dir)
		return -errno;
	while (r == 0 && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			r = run_path(dirfd(dir), e->d_name, n_run);
	return r;
}

static int run_path(int at, const char *path, unsigned int *n_run)
{
	_cleanup_(closep) int fd = openat(at, path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		r = -errno;
	else if (S_ISDIR(st.st_mode))
		return run_dir(fd, n_run);
	else
		r = run_file(fd, (size_t)st.st_size);
	if (r < 0)
		fprintf(stderr, "%s: %s\n", path, strerror(-r));
	else
		*n_run += 1;
	return r;
}

int main(int argc, char **argv)
{
	unsigned int n_run = 0;

	for (int i = 1; i < argc; i++)
		if (run_path(AT_FDCWD, argv[i], &n_run) < 0)
			return 1;
	printf("%u inputs\n", n_run);
	return n_run ? 0 : 1;
}
