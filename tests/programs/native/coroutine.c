/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coroutine MS makecontext|switch|abort: body -> middle -> hot on a separate stack. It ends as its
 * creator made it: at makecontext's trampoline, at a zero (made by hand), or at the address of
 * abort() (as libcoro's).
 */
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "work.h"

static volatile uint64_t sink;
static long limit_ms;
static ucontext_t back, there;
static uint64_t stack[32768] __attribute__((aligned(16)));

void *switch_back;
void stack_switch(void **save, void *to);

/* A switch saves and restores callee-saved registers and the stack pointer. */
#ifdef __x86_64__
__asm__(".text\n"
	".globl stack_switch\n"
	".type stack_switch, @function\n"
	"stack_switch:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset rbp, 0\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset rbx, 0\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore rbx\n"
	"	pop %rbp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore rbp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size stack_switch, .-stack_switch\n");
#else
__asm__(".text\n"
	".globl stack_switch\n"
	".type stack_switch, %function\n"
	"stack_switch:\n"
	"	.cfi_startproc\n"
	"	stp x29, x30, [sp, #-32]!\n"
	"	.cfi_adjust_cfa_offset 32\n"
	"	.cfi_rel_offset x29, 0\n"
	"	.cfi_rel_offset x30, 8\n"
	"	mov x10, sp\n"
	"	str x10, [x0]\n"
	"	mov sp, x1\n"
	"	ldp x29, x9, [sp], #32\n"
	"	.cfi_adjust_cfa_offset -32\n"
	"	.cfi_restore x29\n"
	"	.cfi_restore x30\n"
	"	ldr x30, [sp, #-16]\n"
	"	ret x9\n"
	"	.cfi_endproc\n"
	".size stack_switch, .-stack_switch\n");
#endif

CALLED static uint64_t hot(uint64_t n)
{
	return spin(n, 100000);
}

CALLED static uint64_t middle(uint64_t n)
{
	return hot(n) + 1;
}

static void body(void)
{
	while (busy(limit_ms))
		sink += middle(sink);
	if (switch_back)
		stack_switch(&there.uc_stack.ss_sp, switch_back);
}

static void by_makecontext(void)
{
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	there.uc_link = &back;
	makecontext(&there, body, 0);
	swapcontext(&back, &there);
}

/*
 * From the top down on x86-64: @bottom as body's return address, body as that of the switch, rbp,
 * rbx. On arm64 a padding word, the return address that body finds in x30, body, x29.
 */
static void by_switch(uint64_t bottom)
{
	uint64_t *top = stack + sizeof(stack) / sizeof(stack[0]) - 4;

#ifdef __aarch64__
	*--top = 0;
#endif
	*--top = bottom;
	*--top = (uint64_t)(uintptr_t)body;
	*--top = 0;
#ifdef __x86_64__
	*--top = 0;
#endif
	stack_switch(&switch_back, top);
}

int main(int argc, char **argv)
{
	limit_ms = busy_ms(argc, argv);
	if (argc > 2 && !strcmp(argv[2], "switch"))
		by_switch(0);
	else if (argc > 2 && !strcmp(argv[2], "abort"))
		by_switch((uint64_t)(uintptr_t)abort);
	else
		by_makecontext();
	return 0;
}
