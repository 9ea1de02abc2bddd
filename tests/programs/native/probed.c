/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A uprobe on its own function, whose first instruction is a push of one byte: main -> outer ->
 * probed. Exits with 77 if the kernel has no uprobes.
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "work.h"

uint64_t probed(uint64_t n);
extern const char __ehdr_start[];

/* clang-format off */
__asm__(".text\n"
	".p2align 4\n"
	".type probed, @function\n"
	"probed:\n"
	"	.cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_offset rbx, -16\n"
	"	lea 1(%rdi), %rbx\n"
	"	imul %rbx, %rbx\n"
	"	mov %rbx, %rax\n"
	"	pop %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore rbx\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.size probed, . - probed\n");
/* clang-format on */

static long probe(uint64_t offset)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.config1 = (uint64_t)(uintptr_t) "/proc/self/exe",
		.config2 = offset,
	};
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	unsigned int type;

	if (!f || fscanf(f, "%u", &type) != 1)
		return -1;
	fclose(f);
	attr.type = type;
	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

CALLED static uint64_t outer(uint64_t n)
{
	for (int i = 0; i < 1000; i++)
		n += probed(n);
	return n + 1;
}

int main(int argc, char **argv)
{
	volatile uint64_t sink = 1;

	if (probe((uint64_t)((const char *)(uintptr_t)probed - __ehdr_start)) < 0)
		return 77;
	while (busy(busy_ms(argc, argv)))
		sink = outer(sink);
	return 0;
}
