/* SPDX-License-Identifier: Apache-2.0 */
/*
 * false_python MILLISECONDS KIND [FILE]: a program that imitates CPython 3.11, with a thread state
 * whose frames are garbage, circular, have a name of a billion characters, or (KIND hang) have
 * their code in the middle of FILE, which the program itself does not read.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "work.h"

uint32_t Py_Version = 0x030b02f0;
uint64_t _PyRuntime[64];

/* The memory of the false interpreter, with the offsets of 3.11. */
static uint64_t interp[64], thread[64], cframe[4], frames[2][16], code[64], type[16], name[16];

CALLED uint64_t _PyEval_EvalFrameDefault(uint64_t n)
{
	return spin(n, 100000);
}

static void make_code(void)
{
	type[3] = (uint64_t) "code";
	code[1] = (uint64_t)type;
	code[14] = code[15] = code[16] = code[17] = (uint64_t)name; /* names, lines */
	name[2] = 1000000000;
	name[4] = 1 << 2 | 1 << 5 | 1 << 6;
}

static uint64_t map_code(const char *path)
{
	enum { OFFSET = 8 << 20, BYTES = 4096 };
	int fd = open(path, O_RDONLY);
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE, fd, OFFSET);

	if (at == MAP_FAILED)
		exit(2);
	return (uint64_t)at;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 2 ? argv[2] : "";
	uint64_t n = 0;

	_PyRuntime[5] = (uint64_t)interp;
	interp[2] = (uint64_t)thread;
	thread[2] = (uint64_t)interp;
	thread[19] = pthread_self();
	thread[7] = (uint64_t)cframe;
	cframe[1] = (uint64_t)frames[0];
	make_code();
	for (int i = 0; i < 2; i++) {
		frames[i][4] = (uint64_t)code;
		frames[i][6] = (uint64_t)frames[!i]; /* a circle */
	}
	if (!strcmp(kind, "garbage"))
		for (size_t i = 0; i < 16; i++)
			frames[0][i] = i * 0x9e3779b97f4a7c15;
	if (!strcmp(kind, "name"))
		frames[0][6] = 0;
	if (!strcmp(kind, "hang") && argc > 3) {
		frames[0][4] = map_code(argv[3]);
		frames[0][6] = 0;
	}
	while (busy(busy_ms(argc, argv)))
		n += _PyEval_EvalFrameDefault(1000);
	return n == 0;
}
