/* SPDX-License-Identifier: Apache-2.0 */
/*
 * swaps MS KIND [FILE]: changes files while they are read, for MS of CPU time:
 *
 *   rewritten FILE  writes into a file, whose code runs, all the time
 *   map-swap        replaces its perf map by files of all kinds all the time
 *   dump-swap       changes its jitdump all the time
 */

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "work.h"

enum { ROUNDS = 100000, PAGE = 4096 };

/* mov %rdi,%rcx; 1: dec %rcx; jnz 1b; mov %rdi,%rax; ret */
static const unsigned char loop[] = { 0x48, 0x89, 0xf9, 0x48, 0xff, 0xc9,
				      0x75, 0xfb, 0x48, 0x89, 0xf8, 0xc3 };
static volatile uint64_t sink;
static long budget_ms;
static char **args;

static uint64_t next(uint64_t *n)
{
	return *n = *n * 6364136223846793005u + 1;
}

static void *map(size_t len, int prot, int flags, int fd)
{
	void *p = mmap(NULL, len, prot, flags, fd, 0);

	if (p == MAP_FAILED)
		exit(1);
	return p;
}

static char *map_code(const unsigned char *code, size_t len)
{
	char *p = map(PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	memcpy(p, code, len);
	return p;
}

static uint64_t call(const char *code, uint64_t n)
{
	uint64_t (*f)(uint64_t);

	memcpy(&f, &code, sizeof(f));
	return f(n);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (write(fd, text, strlen(text)) < 0)
		fprintf(stderr, "%s: %m\n", path);
	close(fd);
}

static void *write_often(void *unused)
{
	int fd = open(args[3], O_RDWR | O_CLOEXEC);
	struct stat st;
	uint64_t n = 1;

	if (fd < 0 || fstat(fd, &st) < 0)
		return unused;
	for (;;) {
		char noise[64];
		/* neither the header nor the code that runs */
		off_t at = 2L * PAGE + (off_t)(n >> 20) % (st.st_size - 2L * PAGE - 64);

		for (size_t i = 0; i < sizeof(noise); i++)
			noise[i] = (char)(next(&n) >> 56);
		if (n >> 60 == 0)
			(void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at & -PAGE,
					PAGE);
		else if (pwrite(fd, noise, sizeof(noise), at) < 0)
			break;
	}
	return unused;
}

static void rewritten(void)
{
	int fd = open(args[3], O_RDONLY | O_CLOEXEC);
	char *code = map(2L * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd);
	pthread_t t;

	pthread_create(&t, NULL, write_often, NULL);
	while (busy(budget_ms))
		sink += call(code + PAGE, ROUNDS);
	_exit(0);
}

static void replace(const char *path, unsigned int turn, const char *text)
{
	static const char *const targets[] = { "/dev/zero",   "/dev/tty", "/proc/self/mem",
					       "/etc/shadow", ".",        "/dev/ptmx" };
	char other[96];
	int fd;

	snprintf(other, sizeof(other), "%s~", path);
	unlink(other);
	rmdir(other);
	if (turn % 4 == 0)
		(void)symlink(targets[turn / 4 % 6], other);
	else if (turn % 4 == 1)
		(void)mkfifo(other, 0644);
	else
		write_file(other, text);
	(void)rename(other, path);
	fd = turn % 4 < 2 ? -1 : open(path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)ftruncate(fd, 1L << (10 + turn % 30));
	(void)pwrite(fd, text, strlen(text), 4000);
	(void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PAGE);
	(void)ftruncate(fd, turn % 8192);
	close(fd);
}

static void map_swap(void)
{
	char path[64], text[PAGE], *code = map_code(loop, sizeof(loop));
	unsigned long at = (unsigned long)code;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	snprintf(text, sizeof(text),
		 "%lx 1000 \xe2\x80\xaeswapped\033[0m\n%lx 0 none\n%lx ffffffffffffffff "
		 "all\nffffffffffffffff 10 end\n"
		 "0x%lx -1 minus\n%lx 1000 %2000s\n\n \n%lx",
		 at, at, at, at, at, "long", at);
	for (unsigned int i = 0; busy(budget_ms); i++) {
		if (i % 16 == 0)
			replace(path, i / 16, text);
		sink += call(code, ROUNDS);
	}
	unlink(path);
}

/* The header of a jitdump and a record, of which all but the identifiers changes. */
static void dump_swap(void)
{
	char path[64], *code = map_code(loop, sizeof(loop));
	uint32_t words[64];
	uint64_t n = 1;
	int fd;

	snprintf(path, sizeof(path), "/tmp/jit-%d.dump", getpid());
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (ftruncate(fd, 1 << 20) < 0)
		exit(1);
	map(PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd);
	while (busy(budget_ms)) {
		for (int i = 0; i < 64; i++)
			words[i] = (uint32_t)(next(&n) >> 32) % (i % 2 ? 200 : UINT32_MAX);
		memcpy(words, (uint32_t[]){ 0x4a695444, 1, 40, 62, 0, (uint32_t)getpid() }, 24);
		words[10] %= 5; /* kind and size of the first record */
		memcpy(&words[18], &code, sizeof(code));
		(void)pwrite(fd, words, sizeof(words), 0);
		(void)ftruncate(fd, (off_t)(n >> 40) % (1 << 20));
		(void)pwrite(fd, words + 10, 200, 240 + (off_t)(n >> 50) % PAGE);
		sink += call(code, ROUNDS);
	}
	unlink(path);
}

int main(int argc, char **argv)
{
	budget_ms = argc < 3 ? 0 : atol(argv[1]);
	args = argv;
	if (argc == 4 && strcmp(argv[2], "rewritten") == 0)
		rewritten();
	if (argc == 3 && strcmp(argv[2], "map-swap") == 0)
		map_swap();
	if (argc == 3 && strcmp(argv[2], "dump-swap") == 0)
		dump_swap();
	return 0;
}
