/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrong_cfi MS: main -> outer -> miscounted -> hot. The CFI of miscounted() does not count the
 * eight bytes that it pushes before it calls hot(), so its return address is read from a local
 * variable that holds zero.
 */
#include "work.h"

static volatile uint64_t sink;

uint64_t hot(uint64_t n);
uint64_t miscounted(uint64_t n);

__asm__(".text\n"
	".globl miscounted\n"
	".type miscounted, @function\n"
	"miscounted:\n"
	"	.cfi_startproc\n"
	"	sub $24, %rsp\n"
	"	.cfi_adjust_cfa_offset 24\n"
	"	movq $0, 16(%rsp)\n"
	"	push %rdi\n"
	"	call hot\n"
	"	pop %rdi\n"
	"	add $24, %rsp\n"
	"	.cfi_adjust_cfa_offset -24\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size miscounted, .-miscounted\n");

CALLED uint64_t hot(uint64_t n)
{
	return spin(n, 100000);
}

CALLED static uint64_t outer(uint64_t n)
{
	return miscounted(n) + 1;
}

int main(int argc, char **argv)
{
	long ms = busy_ms(argc, argv);

	while (busy(ms))
		sink += outer(sink);
	return 0;
}
