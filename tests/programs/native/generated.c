/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code generated at run time: main -> outer -> generated(), which keeps a frame pointer like code
 * of language runtimes or, with "bare", none, like PCRE's compiled expressions, which have their
 * argument in rbp. With "large" it has a large frame like QEMU's, in which earlier calls have left
 * their return addresses. Its symbol comes from a perf map ("map"), from a jitdump ("dump"), or
 * does not exist. "map-bomb" is a perf map of 200 MiB, "dump-bomb" a jitdump of 1 GiB with four
 * million lines, most of which is a hole.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "work.h"

/* push %rbp; mov %rsp,%rbp; mov $1000000,%ecx; 1: dec %ecx; jnz 1b; pop %rbp; ret */
static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0xb9, 0x40, 0x42, 0x0f,
				0x00, 0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3 };

/*
 * push %rbx, %r15, %r14, %r13, %rbp; sub $112,%rsp; mov %rdi,%rbp; mov $1000000,%ecx;
 * 1: dec %ecx; jnz 1b; add $112,%rsp; pop %rbp, %r13, %r14, %r15, %rbx; ret
 */
static const uint8_t bare[] = { 0x53, 0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0x55, 0x48, 0x83,
				0xec, 0x70, 0x48, 0x89, 0xfd, 0xb9, 0x40, 0x42, 0x0f, 0x00,
				0xff, 0xc9, 0x75, 0xfc, 0x48, 0x83, 0xc4, 0x70, 0x5d, 0x41,
				0x5d, 0x41, 0x5e, 0x41, 0x5f, 0x5b, 0xc3 };

/*
 * push %rbp, %rbx, %r12, %r13, %r14, %r15; mov %rdi,%rbp; sub $1160,%rsp; mov $1000000,%ecx;
 * 1: dec %ecx; jnz 1b; add $1160,%rsp; pop %r15, %r14, %r13, %r12, %rbx, %rbp; ret
 */
static const uint8_t large[] = { 0x55, 0x53, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57,
				 0x48, 0x89, 0xfd, 0x48, 0x81, 0xec, 0x88, 0x04, 0x00, 0x00,
				 0xb9, 0x40, 0x42, 0x0f, 0x00, 0xff, 0xc9, 0x75, 0xfc, 0x48,
				 0x81, 0xc4, 0x88, 0x04, 0x00, 0x00, 0x41, 0x5f, 0x41, 0x5e,
				 0x41, 0x5d, 0x41, 0x5c, 0x5b, 0x5d, 0xc3 };

typedef void (*generated_fn)(uint64_t *argument);

enum { MAP_BOMB_BLOCKS = 200, DUMP_BOMB_RECORDS = 64, MIB = 1 << 20 };

/* Writes @n blocks of 1 MiB with other functions. */
static void pad_map(FILE *f, int n)
{
	static char block[MIB + 64];
	size_t len = 0;

	for (unsigned int i = 0; len + 64 < MIB; i++)
		len += (size_t)snprintf(block + len, 64, "%x 10 other_function_%u\n", 16 * i, i);
	for (int i = 0; i < n; i++)
		if (fwrite(block, 1, len, f) != len)
			exit(1);
}

static void write_map(const void *at, bool is_bomb)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	f = fopen(path, "w");
	if (!f)
		exit(1);
	if (is_bomb)
		pad_map(f, MAP_BOMB_BLOCKS);
	fprintf(f, "%lx %zx mapped_function\n", (unsigned long)at, sizeof(code));
	fclose(f);
}

/* tools/perf/Documentation/jitdump-specification.txt */
struct dump {
	uint32_t magic, version, header_size, machine, pad, pid;
	uint64_t timestamp, flags;
	uint32_t id, total_size;
	uint64_t time;
	uint32_t load_pid, tid;
	uint64_t vma, code_addr, code_size, code_index;
	char name[16];
	uint8_t bytes[sizeof(code)];
} __attribute__((packed));

struct dump_lines {
	uint32_t id, total_size;
	uint64_t time, code_addr, n_entries;
} __attribute__((packed));

/* Appends line numbers of 4 MiB and the function with 12 MiB of code, again and again. */
static void pad_dump(int fd, struct dump *d)
{
	struct dump_lines lines = {
		.id = 2, .total_size = 4 * MIB, .code_addr = d->code_addr, .n_entries = UINT32_MAX
	};
	size_t load_len = sizeof(*d) - offsetof(struct dump, id);
	off_t at = sizeof(*d);

	d->total_size = 12 * MIB;
	for (int i = 0; i < DUMP_BOMB_RECORDS; i++) {
		if (pwrite(fd, &lines, sizeof(lines), at) != sizeof(lines) ||
		    pwrite(fd, (char *)d + offsetof(struct dump, id), load_len, at + 4 * MIB) !=
			    (ssize_t)load_len)
			exit(1);
		at += 16 * MIB;
	}
	if (ftruncate(fd, at) < 0)
		exit(1);
}

static void write_dump(const void *at, bool is_bomb)
{
	struct dump d = { .magic = 0x4a695444,
			  .version = 1,
			  .header_size = 40,
			  .machine = 62,
			  .pid = (uint32_t)getpid(),
			  .total_size = sizeof(d) - 40,
			  .load_pid = (uint32_t)getpid(),
			  .tid = (uint32_t)getpid(),
			  .vma = (uint64_t)at,
			  .code_addr = (uint64_t)at,
			  .code_size = sizeof(code),
			  .name = "dumped_function" };
	char path[64];
	int fd;

	memcpy(d.bytes, code, sizeof(code));
	snprintf(path, sizeof(path), "/tmp/jit-%d.dump", (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, &d, sizeof(d)) != (ssize_t)sizeof(d))
		exit(1);
	if (is_bomb)
		pad_dump(fd, &d);
	/* a profiler finds the dump by this executable mapping */
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		exit(1);
}

/* Fill the stack below the caller with return addresses of direct and indirect calls. */
CALLED static int earlier(int n);
static int (*volatile earlier_indirect)(int) = earlier;

CALLED static int earlier(int n)
{
	volatile int frame[8];

	frame[0] = n;
	if (n)
		frame[1] = (n & 3 ? earlier(n - 1) : earlier_indirect(n - 1)) + frame[0];
	return frame[n != 0];
}

CALLED static int outer_large(generated_fn generated)
{
	static uint64_t argument[2] = { 1, 0 };
	int n = earlier(20);

	generated(argument);
	return (int)*(volatile uint64_t *)argument + n;
}

CALLED static int outer(generated_fn generated)
{
	uint64_t argument[2] = { 1, 0 };

	generated(argument);
	return (int)*(volatile uint64_t *)argument;
}

int main(int argc, char **argv)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	const char *how = argc > 2 ? argv[2] : "";
	char path[64];
	int n = 0;

	if (at == MAP_FAILED)
		return 1;
	memcpy(at, code, sizeof(code));
	if (!strcmp(how, "bare"))
		memcpy(at, bare, sizeof(bare));
	if (!strcmp(how, "large"))
		memcpy(at, large, sizeof(large));
	if (!strncmp(how, "map", 3))
		write_map(at, !strcmp(how, "map-bomb"));
	if (!strncmp(how, "dump", 4))
		write_dump(at, !strcmp(how, "dump-bomb"));
	while (busy(busy_ms(argc, argv)))
		n += strcmp(how, "large") ? outer((generated_fn)at) : outer_large((generated_fn)at);
	/* the dump exists as long as the process, during which the profiler opens it */
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	unlink(path);
	snprintf(path, sizeof(path), "/tmp/jit-%d.dump", (int)getpid());
	unlink(path);
	return n == 0;
}
