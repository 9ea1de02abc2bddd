/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fibers MS: outer -> fiber_run -> body -> back_call -> middle -> hot, as OCaml 5 runs code: body
 * has a stack of its own, at lower addresses, and what it calls in C runs on the first stack. The
 * CFI of both functions that change the stack computes the CFA from words in memory.
 */
#include "work.h"

static volatile uint64_t sink;
static long limit_ms;
static uint64_t stack[4096] __attribute__((aligned(16)));
static void *outer_sp;

void fiber_run(void (*run)(void), void *stack_top, void **sp);
void back_call(void (*run)(void), void **sp);

__asm__(".text\n"
	".globl fiber_run\n"
	".type fiber_run, @function\n"
	"fiber_run:\n"
	"	.cfi_startproc\n"
	"	mov %rsp, (%rdx)\n"
	"	mov %rdx, -16(%rsi)\n"
	"	lea -16(%rsi), %rsp\n"
	"	.cfi_escape 0x0f, 8, 0x77, 0, 0x06, 0x23, 0, 0x06, 0x23, 8\n" /* **rsp + 8 */
	"	call *%rdi\n"
	"	mov (%rsp), %rdx\n"
	"	mov (%rdx), %rsp\n"
	"	.cfi_def_cfa rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size fiber_run, .-fiber_run\n"
	".globl back_call\n"
	".type back_call, @function\n"
	"back_call:\n"
	"	.cfi_startproc\n"
	"	mov %rsp, %rax\n"
	"	.cfi_def_cfa rax, 8\n"
	"	mov (%rsi), %rsp\n"
	"	and $-16, %rsp\n"
	"	push %rax\n"
	"	push %rax\n"
	"	.cfi_escape 0x0f, 5, 0x77, 0, 0x06, 0x23, 8\n" /* *rsp + 8 */
	"	call *%rdi\n"
	"	mov (%rsp), %rsp\n"
	"	.cfi_def_cfa rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size back_call, .-back_call\n");

CALLED void hot(void)
{
	for (uint64_t i = 0; i < 20000; i++)
		sink += i;
}

CALLED void middle(void)
{
	hot();
	sink++;
}

CALLED void body(void)
{
	while (busy(limit_ms))
		back_call(middle, &outer_sp);
	sink++;
}

CALLED void outer(void)
{
	fiber_run(body, stack + sizeof(stack) / sizeof(stack[0]), &outer_sp);
	sink++;
}

int main(int argc, char **argv)
{
	limit_ms = busy_ms(argc, argv);
	outer();
	return 0;
}
